package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.OutboxSchema;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The table of an outbox or of an inbox is missing, or lacks a required part. */
final class MissingSchemaException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private static final String DEFAULT_INBOX = "outbox_inbox";

    private final String table;
    private final String database; // the name in the directories of migrations
    private final Layout layout;
    private final String initializeProperty;
    private final Set<Capability> capabilities;
    private final boolean leader;
    private final @Nullable String statements; // DDL of the inbox; null for an outbox, whose DDL a command prints

    /** @param leader whether the leader table is missing */
    MissingSchemaException(EngineSettings settings, String database, List<String> missing, boolean leader) {
        super("The database has not all that the outbox in table " + settings.table() + " needs. Missing: "
                + String.join(", ", missing));
        this.table = settings.table();
        this.database = database;
        this.layout = settings.properties().layout();
        this.capabilities = settings.capabilities();
        this.leader = leader;
        this.initializeProperty = settings.check().name("jdbc.initialize-schema");
        this.statements = null;
    }

    MissingSchemaException(
            EngineSettings settings, AbstractJdbcEventStore database, JdbcInbox inbox, List<String> missing) {
        super("The database has not all that the inbox in table " + inbox.table() + " needs. Missing: "
                + String.join(", ", missing));
        this.table = inbox.table().value();
        this.database = database.name();
        this.layout = settings.properties().layout();
        this.capabilities = Set.of(Capability.INBOX);
        this.leader = false;
        this.initializeProperty = settings.check().name("jdbc.initialize-schema");
        this.statements = String.join(";\n", OutboxSchema.inboxStatements(database, inbox)) + ";";
    }

    /** Whether the shipped migrations create this table; they use the default name. */
    boolean isDefaultTable() {
        return layout == Layout.OUTBOX
                && table.equals(statements == null ? AbstractJdbcEventStore.DEFAULT_TABLE : DEFAULT_INBOX);
    }

    /** Returns the text that tells users what to put into their own migration. */
    String migration() {
        return statements == null ? "with what this prints: " + command() : "\n" + statements;
    }

    /** Returns the command that prints the DDL. */
    private String command() {
        String with = capabilities.stream().map(Capability::name).collect(Collectors.joining(","));
        return "outbox schema print --store " + database + " --table " + table
                + (layout == Layout.OUTBOX ? "" : " --layout " + layout)
                + (with.isEmpty() ? "" : " --with " + with);
    }

    /** Returns the Flyway locations of the plain table and of each capability. */
    String flywayLocations() {
        return locations("classpath:META-INF/outbox/flyway%s/{vendor}", ",");
    }

    String liquibaseFiles() {
        return locations("META-INF/outbox/liquibase/outbox%s.xml", " and ");
    }

    private String locations(String pattern, String separator) {
        return Stream.of(
                        Stream.of(""),
                        capabilities.stream().map(MissingSchemaException::directory),
                        leader ? Stream.of("-leader") : Stream.<String>empty())
                .flatMap(all -> all)
                .distinct()
                .map(pattern::formatted)
                .collect(Collectors.joining(separator));
    }

    private static String directory(Capability capability) {
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

    String initializeProperty() {
        return initializeProperty;
    }
}
