package outbox.spring.boot;

import java.util.List;

/** The table of an outbox is not there, or lacks something that was asked for. */
final class MissingSchemaException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String table;
    private final String database;
    private final List<String> missing;
    private final String initializeProperty;

    MissingSchemaException(EngineSettings settings, String database, List<String> missing) {
        super("The database has not all that the outbox in table " + settings.table() + " needs. Missing: "
                + String.join(", ", missing));
        this.table = settings.table();
        this.database = database;
        this.missing = List.copyOf(missing);
        this.initializeProperty = settings.check().name("jdbc.initialize-schema");
    }

    String table() {
        return table;
    }

    /** The name of its dialect, as directories of migrations have it. */
    String database() {
        return database;
    }

    List<String> missing() {
        return missing;
    }

    String initializeProperty() {
        return initializeProperty;
    }
}
