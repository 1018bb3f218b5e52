package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.purge.PurgeSearch;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.PostgresLimits;
import outbox.jdbc.internal.sql.PostgresStatement;
import outbox.jdbc.internal.sql.RowMapper;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.jdbc.internal.tx.PostgresIsolation;
import outbox.jdbc.internal.tx.PostgresTransaction;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;

/**
 * PostgreSQL 12 or newer. One statement locks, leases and reads the events of a claim. An insert of an existing id
 * does not abort the caller's transaction if the caller provided the id.
 *
 * <p>Claims, the query for the order and the query for the next due time change planner settings until the end of
 * their transaction. They never run in a business transaction.
 */
final class PostgresDialect extends Dialect {

    /**
     * Leaves the planner only index scans and direct access by ctid, so that one plan suits any size of the table
     * and can be kept. JIT compilation is off, because the estimated cost may be high: the limit is not yet known,
     * or a sort cannot be avoided.
     */
    private static final String BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; "
            + "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_sort = off; "
            + "SET LOCAL enable_nestloop = on; SET LOCAL jit = off; SET LOCAL plan_cache_mode = force_generic_plan";

    /** PostgreSQL truncates longer names, and the result may be the name of another table. */
    static final int MAX_NAME = 63;

    private static final Logger LOG = SafeLogger.of(PostgresDialect.class);

    // the text of such a stored value is larger than a payload may be
    private static final int LARGE_JSON = 16 << 20;

    private final PostgresIsolation isolation = new PostgresIsolation();

    @Override
    public String name() {
        return "postgresql";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:postgresql:");
    }

    @Override
    public String nowSql(boolean zoned) {
        return zoned ? "clock_timestamp()" : "clock_timestamp() AT TIME ZONE 'UTC'";
    }

    @Override
    public String jsonParameter(String columnType) {
        return columnType.startsWith("json") ? textParameter(columnType) : "?";
    }

    @Override
    String textParameter(String columnType) {
        return "CAST(? AS " + columnType + ")";
    }

    /**
     * The size of JSON is that of its text. Building the text needs memory on the server, so it is skipped for a
     * value that is too large in any case.
     */
    @Override
    public String byteSize(String column, String type) {
        return type.startsWith("json")
                ? "CASE WHEN pg_column_size(" + column + ") > " + LARGE_JSON + " THEN pg_column_size(" + column
                        + ") ELSE octet_length(CAST(" + column + " AS text)) END"
                : super.byteSize(column, type);
    }

    @Override
    public String plusMillis(String time, String millis) {
        return time + " + " + millis + " * INTERVAL '1 millisecond'";
    }

    @Override
    public String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }

    @Override
    public String passOverDuplicate() {
        return "ON CONFLICT DO NOTHING";
    }

    @Override
    public void prepare(Connection conn) throws SQLException {
        isolation.readCommitted(conn);
    }

    /**
     * If a statement of the transaction failed, PostgreSQL rolls back on COMMIT, and the driver does not report it.
     * If business code had caught that failure, its events would be delivered although they do not exist. The driver
     * knows the state of the transaction, so this check needs no round trip.
     */
    @Override
    public void checkCommit(Connection conn) throws SQLException {
        if (PostgresTransaction.hasFailed(conn)) {
            throw new EventStoreException(
                    "A statement of this transaction failed, so PostgreSQL will roll it back instead of committing. Do"
                            + " not swallow the failure of a statement: roll back, or use a savepoint.",
                    null);
        }
    }

    // ---- statements ----

    /**
     * Prevents a server-side prepared statement, because the server would keep a plan that was made for a
     * small table.
     */
    @Override
    <T> List<T> queryAnew(JdbcTable table, Connection conn, String sql, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            PostgresStatement.planEachTime(select);
            return table.query(conn, select, binds, mapper);
        }
    }

    @Override
    int updateAnew(JdbcTable table, Connection conn, String sql, Binds binds) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            PostgresStatement.planEachTime(update);
            return table.update(conn, update, binds);
        }
    }

    @Override
    <T> List<T> queryHeld(JdbcTable table, Connection conn, String sql, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        return PostgresLimits.query(table.shape(conn), conn, sql, binds, mapper);
    }

    @Override
    int updateHeld(JdbcTable table, Connection conn, String sql, Binds binds) throws SQLException {
        return PostgresLimits.update(table.shape(conn), conn, sql, binds);
    }

    private record ByIndex(String sql, int networkMillis) {}

    /** Sends the settings, which apply to the rest of the transaction, in the same round trip as the statement. */
    @Override
    <T> List<T> queryByIndex(JdbcTable table, Connection conn, String sql, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        TableColumns shape = table.shape(conn);
        int millis = PostgresLimits.networkMillis(conn);
        String text =
                shape.text(new ByIndex(sql, millis), () -> BY_INDEX + ";\n" + PostgresLimits.settings(millis) + sql);
        try (PreparedStatement statements = conn.prepareStatement(text)) {
            binds.to(new Binder(statements, shape));
            return PostgresLimits.rows(statements, mapper);
        }
    }

    /**
     * No lock: a statement sees everything that was committed before it, and a lock would only block the delivery.
     */
    @Override
    String lockRow() {
        return "";
    }

    @Override
    String isIn(String column, @Nullable String type, int count) {
        return column + " = ANY (" + (type == null ? "?" : "CAST(? AS " + type + "[])") + ")";
    }

    @Override
    boolean bindsArrays() {
        return true;
    }

    @Override
    boolean dueIndexStartsWithStatus() {
        return false;
    }

    @Override
    boolean findsLastDirectly() {
        return true;
    }

    @Override
    boolean sortsByNull() {
        return true;
    }

    @Override
    boolean hasTable(Connection conn, TableName name) throws SQLException {
        return hasRelation(conn, name.value());
    }

    /** Whether a table or index with this name exists. The name may be quoted. */
    static boolean hasRelation(Connection conn, String name) throws SQLException {
        return isFound(conn, "SELECT 1 WHERE to_regclass(?) IS NOT NULL", name);
    }

    // ---- inserting ----

    @Override
    String secondsParameter() {
        return "to_timestamp(?)";
    }

    @Override
    String afterInsert(JdbcTable table, String key, int rows) {
        return "ON CONFLICT " + key + " DO NOTHING" + (rows == 1 ? "" : " RETURNING " + table.idColumn());
    }

    @Override
    boolean insertRows(
            JdbcTable table, Connection conn, String sql, List<String> eventIds, boolean fresh, Binding binding)
            throws SQLException {
        return new PostgresInsert(table, conn, eventIds, binding).insert(sql, fresh);
    }

    // ---- statements on the standard table ----

    /**
     * Also reads whether rows contain the transaction that wrote them, and warns about a second table of an
     * earlier version.
     */
    @Override
    TableColumns readColumns(Connection conn, TableName table, TableColumns columns) throws SQLException {
        if (hasControlTable(conn, table)) {
            LOG.log(
                    Level.WARNING,
                    "Table " + controlTable(table) + " of an earlier version still inherits from " + table
                            + ". It works, but ids are unique in each of the two only, and claims are slower. When"
                            + " no node of the earlier version runs, call OutboxSchema.mergeControlTable, run outbox"
                            + " schema apply, or V11__outbox_one_table.sql.");
        }
        // Binds: name of the table.
        String sql = """
                SELECT 1
                  FROM pg_class c
                  JOIN pg_am a ON a.oid = c.relam
                 WHERE c.oid = to_regclass(?)
                   AND c.relkind = 'r'
                   AND NOT c.relhasrules
                   AND a.amname = 'heap'
                """;
        return isFound(conn, sql, table.value()) ? columns.withWriters() : columns;
    }

    /** Whether a second table inherits from this one. Earlier versions used it for priorities and deadlines. */
    static boolean hasControlTable(Connection conn, TableName table) throws SQLException {
        return isFound(
                conn,
                "SELECT 1 FROM pg_inherits WHERE inhparent = to_regclass(?) AND inhrelid = to_regclass(?)",
                table.value(),
                controlTable(table));
    }

    private static String controlTable(TableName table) {
        return table.value() + "_control";
    }

    private static boolean isFound(Connection conn, String sql, String... names) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            for (int i = 0; i < names.length; i++) {
                select.setString(i + 1, names[i]);
            }
            try (ResultSet rows = select.executeQuery()) {
                return rows.next();
            }
        }
    }

    @Override
    ClaimStatements newClaims(AbstractJdbcEventStore store) {
        return new PostgresClaims(store);
    }

    @Override
    HeldEventStatements newHeld(AbstractJdbcEventStore store) {
        return new PostgresHeldEvents(store);
    }

    @Override
    KeyStatements newKeys(AbstractJdbcEventStore store) {
        return new PostgresKeys(store);
    }

    @Override
    PurgeSearch newPurgeSearch(AbstractJdbcEventStore store) {
        return new EndedBlocks(store);
    }

    @Override
    AbstractJdbcEventStore newStore(String table) {
        return new PostgresEventStore(table);
    }
}
