package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.purge.PurgeSearch;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.RowMapper;
import outbox.jdbc.internal.sql.SqlStates;
import outbox.jdbc.internal.sql.TableColumns;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The differences between databases: names, current time, locks, errors and statement planning. The standard store
 * and the stores of other table layouts use the same dialect.
 *
 * <p>To add a dialect, register it as a service of this class, see {@link java.util.ServiceLoader};
 * {@link JdbcEventStores} then finds it. Only the three abstract methods are required. The default implementations
 * of the others suit a database that follows standard SQL. A dialect must be thread-safe. It may keep state per
 * connection, but not per table.
 */
public abstract class Dialect {

    /**
     * Returns the name of the database in lower case. {@link JdbcEventStores#get} finds the dialect by this name.
     */
    public abstract String name();

    /** Returns the prefixes of the JDBC URLs of this database, such as {@code jdbc:h2:}. */
    public abstract List<String> jdbcUrlPrefixes();

    /** Returns SQL for the current time of the database, with time zone or as local time in UTC. */
    public abstract String nowSql(boolean zoned);

    /**
     * Returns the product names of the database in lower case. They are used if the JDBC URL is that of a
     * wrapping driver.
     */
    public List<String> productNames() {
        return List.of(name());
    }

    /**
     * Returns the directory of the DDL files, such as {@code h2} in {@code META-INF/outbox/ddl/schema/h2}. The files
     * have placeholders such as <code>${table}</code>.
     */
    public String schemaName() {
        return name();
    }

    /** Returns a query for the current time in UTC. The time must advance within a transaction. */
    public String clockSql() {
        return "SELECT " + nowSql(false);
    }

    /** Returns the name of a table or column in quotes. */
    public String quoted(String name) {
        return "\"" + name + "\"";
    }

    /** Returns the type for a CAST to text. */
    public String textType() {
        return "VARCHAR";
    }

    /** Returns the parameter for a column of the given type that receives JSON as text. */
    public String jsonParameter(String columnType) {
        return "?";
    }

    /** Returns SQL for the number of bytes of a value. The size of JSON is that of its text. */
    public String byteSize(String column, String type) {
        return "OCTET_LENGTH(" + column + ")";
    }

    /** Returns SQL that adds a number of milliseconds to a time. */
    public String plusMillis(String time, String millis) {
        return "TIMESTAMPADD(MICROSECOND, " + millis + " * 1000, " + time + ")";
    }

    /**
     * Returns the clause that locks the candidates of a claim on the standard table and skips locked rows; empty if the
     * database has none. Layouts, keys and the purge need a database with {@code FOR UPDATE SKIP LOCKED}.
     */
    public String lockCandidates() {
        return "";
    }

    /**
     * Returns the clause of an INSERT that skips a row whose key exists. Empty if a duplicate key error does not
     * abort the transaction.
     */
    public String passOverDuplicate() {
        return "";
    }

    /** Whether the error reports a duplicate key. */
    public boolean isDuplicateKey(SQLException error) {
        return SqlStates.of(error).equals("23505");
    }

    /** Prepares a transaction of the library before its first statement. */
    public void prepare(Connection conn) throws SQLException {}

    /** Refuses the commit of a transaction that the database would silently roll back. */
    public void checkCommit(Connection conn) throws SQLException {}

    // ---- statements: planning, time limits, locks ----

    final Instant now(Connection conn) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(clockSql());
                ResultSet row = select.executeQuery()) {
            row.next();
            return row.getObject(1, LocalDateTime.class).toInstant(ZoneOffset.UTC);
        }
    }

    /** Runs a query that is planned for each execution, because the server might keep an unsuitable plan. */
    <T> List<T> queryAnew(JdbcTable table, Connection conn, String sql, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        return table.query(conn, sql, binds, mapper);
    }

    /**
     * Runs a query whose plan may be kept, because it always uses an index. Only for transactions of the library,
     * because it may change their settings.
     */
    <T> List<T> queryByIndex(JdbcTable table, Connection conn, String sql, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        return queryAnew(table, conn, sql, binds, mapper);
    }

    /** Runs an update under the rules of {@link #queryAnew}. */
    int updateAnew(JdbcTable table, Connection conn, String sql, Binds binds) throws SQLException {
        return table.update(conn, sql, binds);
    }

    /**
     * Runs an update of events that a claim holds, in a transaction of the library. It waits only briefly for a
     * locked row, if the database supports such a limit.
     */
    int updateHeld(JdbcTable table, Connection conn, String sql, Binds binds) throws SQLException {
        return updateAnew(table, conn, sql, binds);
    }

    /** Runs a query under the rules of {@link #updateHeld}. */
    <T> List<T> queryHeld(JdbcTable table, Connection conn, String sql, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        return queryAnew(table, conn, sql, binds, mapper);
    }

    /** Whether an UPDATE may wait long for a locked row, so that the rows must be locked first. */
    boolean locksFirst() {
        return false;
    }

    /** Returns the clause for a SELECT that locks its rows and waits no longer than {@link #updateHeld} for them. */
    String lockNow() {
        return "FOR UPDATE";
    }

    /**
     * Returns the clause for a SELECT of one row that waits for a transaction that is changing the row and returns
     * the new row.
     */
    String lockRow() {
        return "FOR UPDATE";
    }

    /**
     * Returns the condition that a column has one of {@code count} values. The type of the column is needed for
     * arrays only.
     */
    String isIn(String column, @Nullable String type, int count) {
        return column + " IN (?" + ", ?".repeat(count - 1) + ")";
    }

    /** Whether {@link #isIn} is the same for any number of values, because they are bound as an array. */
    boolean bindsArrays() {
        return false;
    }

    /** Returns the parameter for a value that is bound as text, for a column of the given type. */
    String textParameter(String columnType) {
        return jsonParameter(columnType);
    }

    /** Returns the clause after a table name that makes a statement find rows by the primary key. */
    String byPrimaryKey() {
        return "";
    }

    /**
     * Returns the hint for the index with exactly these columns; empty if there is no such index or the planner
     * needs no hint.
     */
    String indexHint(Connection conn, TableName table, String columns) throws SQLException {
        return "";
    }

    /**
     * Returns the statement that reads and locks the candidates of a claim. Binds: those of the condition on
     * e, {@link #bindLimit}.
     */
    String candidatesSql(JdbcTable table, String columns, String condition, String order) {
        return lookSql(table, columns, condition, order) + lockCandidates();
    }

    static String lookSql(JdbcTable table, String columns, String condition, String order) {
        return """
                SELECT %s
                  FROM %s e
                 WHERE %s
                 ORDER BY %s
                 LIMIT ?
                """.formatted(columns, table.sqlName(), condition, order);
    }

    /** @param costly whether the condition reads other events */
    void bindLimit(Binder binder, int limit, boolean costly) throws SQLException {
        binder.number(limit);
    }

    /** Whether an index finds the last row before a value directly, without reading from the end of the index. */
    boolean findsLastDirectly() {
        return false;
    }

    /**
     * Whether the database needs a column in ORDER BY to use the index order, even if the condition says that it
     * is NULL.
     */
    boolean sortsByNull() {
        return false;
    }

    /** Whether the index of the claim begins with the status. */
    boolean dueIndexStartsWithStatus() {
        return true;
    }

    /** Deletes rows that this transaction has locked or inserted. */
    void delete(JdbcTable table, Connection conn, Collection<String> eventIds) throws SQLException {
        table.updateIds(conn, "DELETE FROM %1$s WHERE %2$s", eventIds, binder -> {}, binder -> {});
    }

    /**
     * Whether statements of this connection find a table by this name. A missing table causes no error, so that the
     * transaction remains usable.
     */
    boolean hasTable(Connection conn, TableName name) throws SQLException {
        DatabaseMetaData meta = conn.getMetaData();
        boolean folds = meta.storesUpperCaseIdentifiers();
        String simple = folds ? name.simpleName().toUpperCase(Locale.ROOT) : name.simpleName();
        int dot = name.value().indexOf('.');
        if (dot < 0) {
            return isAmong(meta.getTables(conn.getCatalog(), conn.getSchema(), simple, null), simple);
        }
        String schema = name.value().substring(0, dot);
        ResultSet tables = meta.supportsSchemasInTableDefinitions()
                ? meta.getTables(conn.getCatalog(), folds ? schema.toUpperCase(Locale.ROOT) : schema, simple, null)
                : meta.getTables(schema, null, simple, null); // for databases where a schema is a catalog
        return isAmong(tables, simple);
    }

    /** Compares the exact name, because the driver treats the underscore in the requested name as a wildcard. */
    private static boolean isAmong(ResultSet tables, String name) throws SQLException {
        try (tables) {
            boolean found = false;
            while (!found && tables.next()) {
                found = tables.getString("TABLE_NAME").equalsIgnoreCase(name);
            }
            return found;
        }
    }

    // ---- inserting ----

    /**
     * Returns the parameter for a time with zone that is bound as seconds since 1970 in a double; null if that has
     * no advantage.
     */
    @Nullable
    String secondsParameter() {
        return null;
    }

    /**
     * Returns the end of an INSERT of this number of rows.
     *
     * @param key the columns of the key that may exist, in parentheses; empty for any key
     */
    String afterInsert(JdbcTable table, String key, int rows) {
        return "";
    }

    /** Binds the parameters of an INSERT. */
    @FunctionalInterface
    interface Binding {
        void bind(PreparedStatement statement) throws SQLException;
    }

    /**
     * Inserts all rows of one statement or none. If an id exists, throws a {@link DuplicateEventException}, and the
     * transaction remains usable.
     *
     * @param fresh the library generated the ids, so no row can have one of them unless an application used the same
     *     id for another event; in that case a PostgreSQL transaction is aborted
     * @return whether it is certain that no savepoint is set, so that only the end of the transaction can undo
     *     the insert
     */
    boolean insertRows(
            JdbcTable table, Connection conn, String sql, List<String> eventIds, boolean fresh, Binding binding)
            throws SQLException {
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            binding.bind(insert);
            insert.executeUpdate();
            return false;
        } catch (SQLException e) {
            if (!isDuplicateKey(e)) {
                throw e;
            }
            Set<String> found = table.existingIds(conn, eventIds);
            // the snapshot may hide the duplicates
            throw duplicate(table, found.isEmpty() ? eventIds : List.copyOf(found), e);
        }
    }

    static DuplicateEventException duplicate(JdbcTable table, List<String> eventIds, @Nullable SQLException cause) {
        return new DuplicateEventException(
                eventIds.stream().limit(10).collect(Collectors.joining(", ")), table.table(), cause);
    }

    // ---- statements on the standard table ----

    /** Adds database-specific information to the columns of the standard table. */
    TableColumns readColumns(Connection conn, TableName table, TableColumns columns) throws SQLException {
        return columns;
    }

    ClaimStatements newClaims(AbstractJdbcEventStore store) {
        return new ClaimStatements(store);
    }

    HeldEventStatements newHeld(AbstractJdbcEventStore store) {
        return new HeldEventStatements(store, false);
    }

    KeyStatements newKeys(AbstractJdbcEventStore store) {
        return new KeyStatements(store);
    }

    PurgeSearch newPurgeSearch(AbstractJdbcEventStore store) {
        return (conn, terminal, isEnded, doneBefore, limit) -> Optional.empty();
    }

    /** Creates the store of the standard table. */
    AbstractJdbcEventStore newStore(String table) {
        return new AbstractJdbcEventStore(this, table) {};
    }

    final void bindIds(Binder binder, List<String> ids) throws SQLException {
        if (bindsArrays()) {
            binder.array(ids);
        } else {
            binder.texts(ids);
        }
    }

    /**
     * Returns the ids of {@code all} that were not found. Ignores case, because a database may return ids in
     * another case.
     */
    static List<String> missing(List<String> all, List<String> found) {
        List<String> missing = new ArrayList<>(all);
        missing.removeIf(id -> found.stream().anyMatch(id::equalsIgnoreCase));
        return missing;
    }
}
