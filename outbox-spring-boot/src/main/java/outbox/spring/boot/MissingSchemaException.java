package outbox.spring.boot;

import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The table of an outbox is not there, or lacks something that was asked for. */
final class MissingSchemaException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String table;
    private final String database; // as directories of migrations have it
    private final Layout layout;
    private final String initializeProperty;
    private final Set<Capability> capabilities;
    private final boolean leader;

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
    }

    /** Whether the shipped migrations are about this table: they name it. */
    boolean isDefaultTable() {
        return layout == Layout.OUTBOX && table.equals(AbstractJdbcEventStore.DEFAULT_TABLE);
    }

    /** What prints the DDL. */
    String command() {
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
