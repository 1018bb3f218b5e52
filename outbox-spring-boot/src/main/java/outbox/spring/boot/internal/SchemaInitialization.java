package outbox.spring.boot.internal;

import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;

import javax.sql.DataSource;

/** When the tables are created at the start. */
public enum SchemaInitialization {
    /** Only if the database runs inside this process and its data ends with the process. */
    EMBEDDED,
    ALWAYS,
    NEVER;

    public boolean appliesTo(DataSource dataSource) {
        return this == ALWAYS || this == EMBEDDED && EmbeddedDatabaseConnection.isEmbedded(dataSource);
    }
}
