package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.RowMapper;
import outbox.jdbc.internal.sql.TableColumns;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A table and the methods that run statements on it: they bind, map rows, split long lists of ids, and add the table
 * name to errors.
 */
abstract class JdbcTable {

    private static final int MAX_IDS = 1000; // per statement

    private final TableName table;
    private final Dialect dialect;
    private volatile @Nullable TableColumns shape; // Read once. Two threads may both read it, which does no harm.

    JdbcTable(TableName table, Dialect dialect) {
        this.table = table;
        this.dialect = dialect;
    }

    public final TableName table() {
        return table;
    }

    final Dialect dialect() {
        return dialect;
    }

    /** A step that may fail with an SQLException. */
    @FunctionalInterface
    interface Step<T> {
        T run() throws SQLException;
    }

    final TableColumns shape(Connection conn) throws SQLException {
        TableColumns known = shape;
        if (known == null) {
            known = readShape(conn);
            shape = known;
        }
        return known;
    }

    TableColumns readShape(Connection conn) throws SQLException {
        return columns(conn, table);
    }

    /** Reads the columns of an outbox table. */
    static TableColumns columns(Connection conn, TableName table) throws SQLException {
        TableColumns columns = TableColumns.readAny(conn, table.value());
        List<String> missing = columns.missing(TableColumns.REQUIRED);
        if (!missing.isEmpty()) {
            throw new EventStoreException(
                    "Table " + table + " is not an outbox table: it has no column " + String.join(", ", missing)
                            + ". Create it with the DDL under META-INF/outbox/schema in outbox-jdbc.",
                    null);
        }
        return columns;
    }

    /** Returns the table name as statements use it. */
    String sqlName() {
        return table.value();
    }

    /**
     * Reads the columns of the table again if the known ones do not include this column, because it may have
     * been added.
     */
    final TableColumns shapeWith(Connection conn, String column) throws SQLException {
        TableColumns known = shape(conn);
        if (!known.has(column)) {
            known = readShape(conn);
            shape = known;
        }
        return known;
    }

    final <T> T run(String what, Step<T> step) {
        try {
            return step.run();
        } catch (SQLException e) {
            throw new EventStoreException("Cannot " + what + " in table " + table + ": " + e.getMessage(), e);
        }
    }

    final <T> List<T> query(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            return query(conn, select, binds, mapper);
        }
    }

    final <T> List<T> query(Connection conn, PreparedStatement select, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        binds.to(new Binder(select, shape(conn)));
        try (ResultSet rows = select.executeQuery()) {
            return RowMapper.all(rows, mapper);
        }
    }

    /** See {@link Dialect#queryAnew}. */
    final <T> List<T> queryAnew(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        return dialect.queryAnew(this, conn, sql, binds, mapper);
    }

    /** See {@link Dialect#queryByIndex}. */
    final <T> List<T> queryByIndex(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        return dialect.queryByIndex(this, conn, sql, binds, mapper);
    }

    /** See {@link Dialect#queryHeld}. */
    final <T> List<T> queryHeld(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        return dialect.queryHeld(this, conn, sql, binds, mapper);
    }

    final int update(Connection conn, String what, String sql, Binds binds) {
        return run(what, () -> update(conn, sql, binds));
    }

    final int update(Connection conn, String sql, Binds binds) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            return update(conn, update, binds);
        }
    }

    final int update(Connection conn, PreparedStatement update, Binds binds) throws SQLException {
        binds.to(new Binder(update, shape(conn)));
        return update.executeUpdate();
    }

    /** Returns the column of the event id, as statements name it. */
    String idColumn() {
        return "event_id";
    }

    /** Returns the type of that column if a parameter needs it. */
    @Nullable
    String idType() {
        return null;
    }

    /** Returns the condition that the event id is one of {@code count} ids. */
    final String idCondition(int count) {
        return dialect.isIn(idColumn(), idType(), count);
    }

    /** Whether {@link #idCondition} is the same for any number of ids. */
    final boolean idsInArray() {
        return dialect.bindsArrays();
    }

    /** Binds the ids of {@link #idCondition}. */
    final void bindIds(Binder binder, List<String> ids) throws SQLException {
        dialect.bindIds(binder, ids);
    }

    /** Returns those of the ids that the id column can contain. */
    Collection<String> possible(Connection conn, Collection<String> eventIds) throws SQLException {
        return eventIds;
    }

    /** Returns those of the ids that are in the table. */
    final Set<String> existingIds(Connection conn, Collection<String> eventIds) throws SQLException {
        return queryIds(conn, "SELECT " + idColumn() + " FROM %1$s WHERE %2$s", possible(conn, eventIds), binder -> {});
    }

    /** Deletes rows that this transaction has locked or inserted. */
    final void delete(Connection conn, Collection<String> eventIds) throws SQLException {
        dialect.delete(this, conn, eventIds);
    }

    /** Runs an update for many ids, in portions. {@code %1$s} is the table, {@code %2$s} the condition on the id. */
    final int updateIds(Connection conn, String sql, Collection<String> ids, Binds before, Binds after)
            throws SQLException {
        return updateIds(conn, dialect::updateAnew, sql, ids, before, after);
    }

    /** Like {@link #updateIds}, under the rules of {@link Dialect#updateHeld}. */
    final int updateHeldIds(Connection conn, String sql, Collection<String> ids, Binds before, Binds after)
            throws SQLException {
        return updateIds(conn, dialect::updateHeld, sql, ids, before, after);
    }

    /** Runs an UPDATE. */
    @FunctionalInterface
    private interface Update {
        int run(JdbcTable table, Connection conn, String sql, Binds binds) throws SQLException;
    }

    private int updateIds(Connection conn, Update update, String sql, Collection<String> ids, Binds before, Binds after)
            throws SQLException {
        int count = 0;
        for (List<String> some : portions(ids)) {
            count += update.run(this, conn, idsText(conn, sql, some.size()), binder -> {
                before.to(binder);
                bindIds(binder, some);
                after.to(binder);
            });
        }
        return count;
    }

    final Set<String> queryIds(Connection conn, String sql, Collection<String> ids, Binds after) throws SQLException {
        return queryIds(conn, this::queryAnew, sql, ids, after);
    }

    /** Like {@code queryIds}, under the rules of {@link Dialect#updateHeld}. */
    final Set<String> queryHeldIds(Connection conn, String sql, Collection<String> ids, Binds after)
            throws SQLException {
        return queryIds(conn, this::queryHeld, sql, ids, after);
    }

    /** Runs a query for ids. */
    @FunctionalInterface
    private interface Query {
        List<String> run(Connection conn, String sql, Binds binds, RowMapper<String> mapper) throws SQLException;
    }

    private Set<String> queryIds(Connection conn, Query query, String sql, Collection<String> ids, Binds after)
            throws SQLException {
        Set<String> found = new HashSet<>();
        for (List<String> some : portions(ids)) {
            found.addAll(query.run(
                    conn,
                    idsText(conn, sql, some.size()),
                    binder -> {
                        bindIds(binder, some);
                        after.to(binder);
                    },
                    row -> row.getString(1)));
        }
        return found;
    }

    /** Reads the rows of many ids, in portions. {@code %1$s} and {@code %2$s} as in {@link #updateIds}. */
    final void readIds(Connection conn, String sql, Collection<String> ids, RowMapper<?> reader) throws SQLException {
        for (List<String> some : portions(ids)) {
            queryHeld(conn, idsText(conn, sql, some.size()), binder -> bindIds(binder, some), reader);
        }
    }

    private record IdsText(String sql, int ids) {}

    private String idsText(Connection conn, String sql, int ids) throws SQLException {
        return shape(conn)
                .text(new IdsText(sql, idsInArray() ? 0 : ids), () -> sql.formatted(sqlName(), idCondition(ids)));
    }

    /** Returns the clause after the table name that makes a statement find rows by id. */
    String byPrimaryKey() {
        return dialect.byPrimaryKey();
    }

    /**
     * Splits ids into portions. The ids are sorted, so that concurrent statements lock rows in the same order. If
     * each id is a parameter, the size of a portion is a power of two, padded with repeated ids, so that only few
     * different statements are prepared.
     */
    final List<List<String>> portions(Collection<String> ids) {
        List<String> sorted = ids.stream().sorted().toList();
        List<List<String>> portions = new ArrayList<>();
        for (int start = 0; start < sorted.size(); start += MAX_IDS) {
            List<String> portion = sorted.subList(start, Math.min(sorted.size(), start + MAX_IDS));
            portions.add(idsInArray() ? portion : filledUp(portion));
        }
        return portions;
    }

    private static List<String> filledUp(List<String> portion) {
        int size = Math.min(MAX_IDS, Integer.highestOneBit(portion.size() * 2 - 1));
        List<String> filled = new ArrayList<>(portion);
        while (filled.size() < size) {
            filled.add(portion.get(portion.size() - 1));
        }
        return filled;
    }
}
