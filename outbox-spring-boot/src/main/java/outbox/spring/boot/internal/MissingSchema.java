package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.OutboxSchema;
import outbox.spring.boot.diagnostics.OutboxStartException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Describes the ways to create a table that is missing, or that lacks a required part. */
public final class MissingSchema {

    private static final String DEFAULT_INBOX = "outbox_inbox";

    private MissingSchema() {}

    /**
     * Returns the exception for the table of an outbox.
     *
     * @param database the name in the directories of migrations
     * @param leader whether the leader table is missing
     */
    static OutboxStartException outbox(EngineSettings settings, String database, List<String> missing, boolean leader) {
        String table = settings.table();
        Layout layout = settings.properties().layout();
        Set<Capability> capabilities = settings.capabilities();
        boolean shipped = layout == Layout.OUTBOX && table.equals(AbstractJdbcEventStore.DEFAULT_TABLE);
        String with = capabilities.stream().map(Capability::name).collect(Collectors.joining(","));
        String command = "outbox schema print --store " + database + " --table " + table
                + (layout == Layout.OUTBOX ? "" : " --layout " + layout)
                + (with.isEmpty() ? "" : " --with " + with);
        return exception(
                settings,
                "outbox in table " + table,
                missing,
                shipped ? suffixes(capabilities, leader ? "-leader" : null) : null,
                "with what this prints: " + command);
    }

    /** Returns the exception for the table of an inbox. */
    public static OutboxStartException inbox(
            EngineSettings settings, AbstractJdbcEventStore database, JdbcInbox inbox, List<String> missing) {
        boolean shipped = settings.properties().layout() == Layout.OUTBOX
                && inbox.table().value().equals(DEFAULT_INBOX);
        return exception(
                settings,
                "inbox in table " + inbox.table(),
                missing,
                shipped ? suffixes(Set.of(Capability.INBOX), null) : null,
                "\n" + String.join(";\n", OutboxSchema.inboxStatements(database, inbox)) + ";");
    }

    /**
     * @param suffixes the endings of the names of shipped migrations; null if the table does not have the default
     *     name, which they use
     */
    private static OutboxStartException exception(
            EngineSettings settings, String user, List<String> missing, @Nullable List<String> suffixes, String own) {
        List<String> ways = new ArrayList<>();
        if (suffixes != null) {
            ways.add("Flyway: spring.flyway.locations=classpath:db/migration,"
                    + listed("classpath:META-INF/outbox/flyway%s/{vendor}", suffixes, ","));
            ways.add("Liquibase: include " + listed("META-INF/outbox/liquibase/outbox%s.xml", suffixes, " and "));
        }
        ways.add("a migration of your own, " + own);
        ways.add("at each start, by the application: " + settings.check().name("jdbc.initialize-schema") + "=always");
        return new OutboxStartException(
                "The database has not all that the " + user + " needs. Missing: " + String.join(", ", missing),
                "Create what is missing, in one of these ways:\n- " + String.join("\n- ", ways));
    }

    private static List<String> suffixes(Collection<Capability> capabilities, @Nullable String leader) {
        return Stream.concat(
                        Stream.concat(Stream.of(""), capabilities.stream().map(MissingSchema::suffix)),
                        Stream.ofNullable(leader))
                .distinct()
                .toList();
    }

    private static String suffix(Capability capability) {
        return switch (capability) {
            case ORDER -> "-order";
            case KEYS -> "-keys";
            case PRIORITY -> "-priority";
            case DEADLINES -> "-deadlines";
            case PAUSES, ATTEMPTS -> "-control";
            case INBOX -> "-inbox";
            case RECONCILE -> "-reconcile";
        };
    }

    private static String listed(String pattern, List<String> suffixes, String separator) {
        return suffixes.stream().map(pattern::formatted).collect(Collectors.joining(separator));
    }
}
