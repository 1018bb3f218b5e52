package outbox.jdbc;

import outbox.model.EventStatus;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** MySQL 8 and MariaDB 10.6 or newer; TiDB speaks the same language. */
public final class MySqlEventStore extends AbstractJdbcEventStore {

    private static final int DUPLICATE_ENTRY = 1062;

    public MySqlEventStore() {
        this(DEFAULT_TABLE);
    }

    public MySqlEventStore(String tableName) {
        super(tableName);
    }

    @Override
    public String name() {
        return "mysql";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:mysql:", "jdbc:mariadb:", "jdbc:tidb:");
    }

    /** Under REPEATABLE READ a claim would also lock the gaps between events, and make writers wait. Holds for the next transaction only, so nothing is to be restored. */
    @Override
    public void prepare(Connection conn) throws SQLException {
        try (Statement statement = conn.createStatement()) {
            statement.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
        }
    }

    @Override
    protected String nowSql(boolean zoned) {
        return "UTC_TIMESTAMP(6)";
    }

    @Override
    protected String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }

    /** The order is the index's, so nothing is sorted, and replicas delete the same rows. */
    @Override
    protected String purgeSql(EventStatus terminal) {
        return """
                DELETE FROM %s
                 WHERE status = %d
                   AND available_at < ?
                   AND done_at < ?
                 ORDER BY status, available_at, created_at
                 LIMIT ?
                """.formatted(table(), terminal.code());
    }

    @Override
    protected boolean isDuplicateKey(SQLException error) {
        return error.getErrorCode() == DUPLICATE_ENTRY;
    }
}
