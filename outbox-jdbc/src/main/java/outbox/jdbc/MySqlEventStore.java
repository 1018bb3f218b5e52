package outbox.jdbc;

/** MySQL 8 and MariaDB 10.6 or newer. TiDB uses the same store. */
public final class MySqlEventStore extends AbstractJdbcEventStore {

    public MySqlEventStore() {
        this(DEFAULT_TABLE);
    }

    public MySqlEventStore(String tableName) {
        super(new MySqlDialect(), tableName);
    }
}
