package outbox.jdbc;

/**
 * H2, with the claim statements for any database. Use it on a single node and in tests: H2 locks more rows than
 * it returns.
 */
public final class H2EventStore extends AbstractJdbcEventStore {

    public H2EventStore() {
        this(DEFAULT_TABLE);
    }

    public H2EventStore(String tableName) {
        super(new H2Dialect(), tableName);
    }
}
