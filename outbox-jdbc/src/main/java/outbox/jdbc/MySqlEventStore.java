package outbox.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/** MySQL 8 and MariaDB 10.6 or newer; TiDB speaks the same language. */
public final class MySqlEventStore extends AbstractJdbcEventStore {

    private static final int DUPLICATE_ENTRY = 1062;
    private static final int SHARED_LOOK = 4; // times the limit

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
    KeyStatements newKeys() {
        return new MySqlKeys(this);
    }

    @Override
    protected String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }

    /**
     * Looks without locks and locks what it found by the primary key. MariaDB keeps the lock of a row that a locking read has looked at and not returned; an open claim would then
     * keep other nodes from writing about the events that they hold. Looks for more than it wants, where that is cheap, so that several nodes that look at the same time find something each.
     */
    @Override
    String candidatesSql(String columns, String condition, String order) {
        return """
                SELECT STRAIGHT_JOIN %s
                  FROM (%s) c
                  JOIN %s e FORCE INDEX (PRIMARY) ON e.event_id = c.event_id
                 LIMIT ?
                """.formatted(columns, lookSql("e.event_id", condition, order), table()) + lockCandidates();
    }

    @Override
    void bindLimit(Binder binder, int limit, boolean costly) throws SQLException {
        binder.number(costly ? limit : (long) limit * SHARED_LOOK).number(limit);
    }

    /** Waits for a row that a claim has locked in passing: to pass over it would discard less than was asked for. */
    @Override
    int deleteDead(Connection conn, Collection<String> eventIds) throws SQLException {
        String sql = "SELECT event_id FROM %1$s FORCE INDEX (PRIMARY) WHERE %2$s AND status = 3 FOR UPDATE";
        return deleteLocked(conn, queryIds(conn, sql, eventIds, binder -> {}));
    }

    @Override
    String byPrimaryKey() {
        return " FORCE INDEX (PRIMARY)";
    }

    /** By the primary key whatever the size of the table: reading a small one as a whole, it would wait for every row that a business transaction has just written. */
    @Override
    Set<String> lockHeld(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        return queryIds(
                conn,
                "SELECT event_id FROM %1$s FORCE INDEX (PRIMARY) WHERE %2$s AND locked_by = ? AND status IN (0, 2) "
                        + lockNow(),
                eventIds,
                binder -> binder.text(token));
    }

    /**
     * The shortest wait for a lock that MySQL can be told is a second, for the whole session: too long, and more than
     * is ours.
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
     * An event with a key is marked instead, and left to the purge: a writer that looked for a row which is gone
     * would lock a gap between events, and with it the inserts of others.
     */
    @Override
    Set<String> deleteHeld(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        if (!shape(conn).has("dedup_key")) {
            Set<String> held = lockHeld(conn, token, eventIds);
            deleteLocked(conn, held);
            return held;
        }
        String sql =
                "SELECT event_id FROM %1$s FORCE INDEX (PRIMARY) WHERE %2$s AND locked_by = ? AND status IN (0, 2)";
        Set<String> held =
                queryIds(conn, sql + " AND dedup_key IS NULL " + lockNow(), eventIds, binder -> binder.text(token));
        deleteLocked(conn, held);
        if (held.size() < eventIds.size()) {
            Set<String> keyed = lockHeld(conn, token, eventIds);
            updateIds(
                    conn,
                    "UPDATE %1$s SET status = 1, done_at = UTC_TIMESTAMP(6), locked_by = NULL, locked_at = NULL"
                            + " WHERE %2$s",
                    keyed,
                    binder -> {},
                    binder -> {});
            held.addAll(keyed);
        }
        return held;
    }

    /**
     * Deletes rows that this transaction has locked, each by its key. A DELETE of many keys, or with LIMIT, reads a small table as a whole, whatever hint it is given, and unlike
     * an UPDATE it then waits for every row that a business transaction has just written.
     */
    @Override
    int deleteLocked(Connection conn, Collection<String> eventIds) throws SQLException {
        if (eventIds.isEmpty()) {
            return 0;
        }
        try (PreparedStatement delete = conn.prepareStatement("DELETE FROM " + table() + " WHERE event_id = ?")) {
            for (String eventId : eventIds) {
                delete.setString(1, eventId);
                delete.addBatch();
            }
            delete.executeBatch();
        }
        return eventIds.size();
    }

    /** While the statistics of a fast table are old, it would read all unfinished events for each one. Binds: schema, table. */
    @Override
    String orderHint(Connection conn) throws SQLException {
        String sql = """
                SELECT index_name
                  FROM information_schema.statistics
                 WHERE table_schema = COALESCE(?, DATABASE())
                   AND table_name = ?
                 GROUP BY index_name
                HAVING GROUP_CONCAT(column_name ORDER BY seq_in_index) = 'aggregate_type,aggregate_id,status,seq'
                """;
        String name = table().value();
        int dot = name.indexOf('.');
        return query(
                        conn,
                        sql,
                        binder -> binder.text(dot < 0 ? null : name.substring(0, dot))
                                .text(table().simpleName()),
                        row -> "FORCE INDEX (`" + row.getString(1) + "`)")
                .stream()
                .findFirst()
                .orElse("");
    }

    @Override
    protected boolean isDuplicateKey(SQLException error) {
        return error.getErrorCode() == DUPLICATE_ENTRY;
    }
}
