package outbox.jdbc;

/**
 * PostgreSQL 12 or newer. One statement locks, leases and reads the events of a claim. An insert of an existing id
 * does not abort the caller's transaction if the caller provided the id.
 */
public final class PostgresEventStore extends AbstractJdbcEventStore {

    public PostgresEventStore() {
        this(DEFAULT_TABLE);
    }

    public PostgresEventStore(String tableName) {
        super(new PostgresDialect(), tableName);
    }
}
