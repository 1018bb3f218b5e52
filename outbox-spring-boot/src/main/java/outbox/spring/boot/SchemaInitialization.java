package outbox.spring.boot;

import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;

import javax.sql.DataSource;

/** When tables are created at the start. */
enum SchemaInitialization {
    /** If the database lives in this process, and ends with it. */
    EMBEDDED,
    ALWAYS,
    NEVER;

    boolean appliesTo(DataSource dataSource) {
        return this == ALWAYS || this == EMBEDDED && EmbeddedDatabaseConnection.isEmbedded(dataSource);
    }
}
