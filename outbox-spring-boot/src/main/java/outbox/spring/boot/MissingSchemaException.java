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

/** The table of an outbox or of an inbox is not there, or lacks something that was asked for. */
final class MissingSchemaException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private static final String DEFAULT_INBOX = "outbox_inbox";

    private final String table;
    private final String database; // as directories of migrations have it
    private final Layout layout;
    private final String initializeProperty;
    private final Set<Capability> capabilities;
    private final boolean leader;
    private final @Nullable String statements; // of an inbox; a command prints those of an outbox

    /** leader: whether the table of the leader is among what is missing. */
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

    /** Whether the shipped migrations are about this table: they name it. */
    boolean isDefaultTable() {
        return layout == Layout.OUTBOX
                && table.equals(statements == null ? AbstractJdbcEventStore.DEFAULT_TABLE : DEFAULT_INBOX);
    }

    /** What a migration of one's own does. */
    String migration() {
        return statements == null ? "with what this prints: " + command() : "\n" + statements;
    }

    /** What prints the DDL. */
    private String command() {
        String with = capabilities.stream().map(Capability::name).collect(Collectors.joining(","));
        return "outbox schema print --store " + database + " --table " + table
                + (layout == Layout.OUTBOX ? "" : " --layout " + layout)
                + (with.isEmpty() ? "" : " --with " + with);
    }

    /** Where Flyway finds the plain table and what each capability needs. */
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
            case CONTROL, PAUSES, ATTEMPTS -> "-control";
            case INBOX -> "-inbox";
            case RECONCILE -> "-reconcile";
        };
    }

    String initializeProperty() {
        return initializeProperty;
    }
}
