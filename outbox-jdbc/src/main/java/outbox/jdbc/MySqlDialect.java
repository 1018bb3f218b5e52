package outbox.jdbc;

import outbox.jdbc.internal.sql.Binder;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.List;

/** MySQL 8 and MariaDB 10.6 or newer. TiDB uses the same dialect. */
final class MySqlDialect extends Dialect {

    private static final int DUPLICATE_ENTRY = 1062;
    // A claim without costly conditions looks at this many times the limit.
    private static final int SHARED_LOOK = 4;

    @Override
    public String name() {
        return "mysql";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:mysql:", "jdbc:mariadb:", "jdbc:tidb:");
    }

    @Override
    public List<String> productNames() {
        return List.of("mysql", "mariadb", "tidb");
    }

    @Override
    public String nowSql(boolean zoned) {
        return "UTC_TIMESTAMP(6)";
    }

    @Override
    public String quoted(String name) {
        return "`" + name + "`";
    }

    @Override
    public String textType() {
        return "CHAR";
    }

    /**
     * Sets READ COMMITTED. Under REPEATABLE READ a claim would also lock the gaps between events, and writers would
     * wait. The setting applies only to the next transaction, so nothing has to be restored.
     */
    @Override
    public void prepare(Connection conn) throws SQLException {
        try (Statement statement = conn.createStatement()) {
            statement.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
        }
    }

    @Override
    public String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }

    @Override
    public boolean isDuplicateKey(SQLException error) {
        return error.getErrorCode() == DUPLICATE_ENTRY;
    }

    /**
     * Reads candidates without locks and then locks the rows by primary key. MariaDB keeps the lock of a row that a
     * locking read examined but did not return. An open claim would then block other nodes from marking events that
     * they hold. If the condition is cheap, reads more candidates than requested, so that several nodes that read at
     * the same time all find events.
     */
    @Override
    String candidatesSql(JdbcTable table, String columns, String condition, String order) {
        return """
                SELECT STRAIGHT_JOIN %s
                  FROM (%s) c
                  JOIN %s e FORCE INDEX (PRIMARY) ON e.event_id = c.event_id
                 LIMIT ?
                """.formatted(columns, lookSql(table, "e.event_id", condition, order), table.sqlName())
                + lockCandidates();
    }

    @Override
    void bindLimit(Binder binder, int limit, boolean costly) throws SQLException {
        binder.number(costly ? limit : (long) limit * SHARED_LOOK).number(limit);
    }

    @Override
    String byPrimaryKey() {
        return " FORCE INDEX (PRIMARY)";
    }

    /**
     * Forces the index. While the statistics of a fast-changing table are outdated, MySQL would scan a small table
     * and wait for each row that a business transaction has just written.
     */
    @Override
    String indexHint(Connection conn, TableName table, String columns) throws SQLException {
        // Binds: schema, table, columns.
        String sql = """
                SELECT index_name
                  FROM information_schema.statistics
                 WHERE table_schema = COALESCE(?, DATABASE())
                   AND table_name = ?
                 GROUP BY index_name
                HAVING LOWER(GROUP_CONCAT(column_name ORDER BY seq_in_index)) = ?
                 ORDER BY MIN(non_unique)
                """;
        String name = table.value();
        int dot = name.indexOf('.');
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            select.setString(1, dot < 0 ? null : name.substring(0, dot));
            select.setString(2, table.simpleName());
            select.setString(3, columns);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? " FORCE INDEX (`" + row.getString(1) + "`)" : "";
            }
        }
    }

    /**
     * The shortest lock timeout of MySQL is one second. It applies to the whole session, which belongs to the pool.
     */
    @Override
    boolean locksFirst() {
        return true;
    }

    @Override
    String lockNow() {
        return "FOR UPDATE NOWAIT";
    }

    /**
     * Deletes each row by its key. A DELETE of many keys, or with LIMIT, scans a small table despite any hint.
     * Unlike an UPDATE, it then waits for every row that a business transaction has just written.
     */
    @Override
    void delete(JdbcTable table, Connection conn, Collection<String> eventIds) throws SQLException {
        if (eventIds.isEmpty()) {
            return;
        }
        String sql = "DELETE FROM " + table.sqlName() + " WHERE " + table.idColumn() + " = ?";
        try (PreparedStatement delete = conn.prepareStatement(sql)) {
            for (String eventId : eventIds) {
                delete.setString(1, eventId);
                delete.addBatch();
            }
            delete.executeBatch();
        }
    }

    @Override
    HeldEventStatements newHeld(AbstractJdbcEventStore store) {
        return new MySqlHeldEvents(store);
    }

    @Override
    KeyStatements newKeys(AbstractJdbcEventStore store) {
        return new MySqlKeys(store);
    }

    @Override
    AbstractJdbcEventStore newStore(String table) {
        return new MySqlEventStore(table);
    }
}
