package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** A table and how to run statements on it: binding, mapping, many ids at a time, and errors that name the table. */
abstract class JdbcTable {

    private static final int MAX_IDS = 1000; // per statement

    private final TableName table;
    private volatile @Nullable TableShape shape; // read once; reading it twice does no harm

    JdbcTable(TableName table) {
        this.table = table;
    }

    public final TableName table() {
        return table;
    }

    /** Binds some of the parameters of a statement. */
    @FunctionalInterface
    interface Binds {
        void to(Binder binder) throws SQLException;
    }

    /** Makes a value of the current row. */
    @FunctionalInterface
    interface RowMapper<T> {
        T map(ResultSet row) throws SQLException;
    }

    /** A step that the database may fail. */
    @FunctionalInterface
    interface Step<T> {
        T run() throws SQLException;
    }

    final TableShape shape(Connection conn) throws SQLException {
        TableShape known = shape;
        if (known == null) {
            known = TableShape.read(conn, table);
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
            binds.to(new Binder(select, shape(conn)));
            List<T> found = new ArrayList<>();
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    found.add(mapper.map(rows));
                }
            }
            return found;
        }
    }

    final int update(Connection conn, String what, String sql, Binds binds) {
        return run(what, () -> update(conn, sql, binds));
    }

    final int update(Connection conn, String sql, Binds binds) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            binds.to(new Binder(update, shape(conn)));
            return update.executeUpdate();
        }
    }

    /** The condition that event_id is one of {@code count} ids. */
    protected String idCondition(int count) {
        return "event_id IN (?" + ", ?".repeat(count - 1) + ")";
    }

    /** Binds the ids of {@link #idCondition}. */
    void bindIds(Binder binder, List<String> ids) throws SQLException {
        binder.texts(ids);
    }

    /** Runs an update for many ids, some at a time: {@code %1$s} is the table, {@code %2$s} the condition on the id. */
    final int updateIds(Connection conn, String sql, Collection<String> ids, Binds before, Binds after)
            throws SQLException {
        int count = 0;
        for (List<String> some : portions(ids)) {
            count += update(conn, sql.formatted(table, idCondition(some.size())), binder -> {
                before.to(binder);
                bindIds(binder, some);
                after.to(binder);
            });
        }
        return count;
    }

    final Set<String> queryIds(Connection conn, String sql, Collection<String> ids, Binds after) throws SQLException {
        Set<String> found = new HashSet<>();
        for (List<String> some : portions(ids)) {
            found.addAll(query(
                    conn,
                    sql.formatted(table, idCondition(some.size())),
                    binder -> {
                        bindIds(binder, some);
                        after.to(binder);
                    },
                    row -> row.getString(1)));
        }
        return found;
    }

    /** Deletes those of the events that the token holds, and answers them. */
    Set<String> deleteHeld(Connection conn, String token, List<String> eventIds) throws SQLException {
        Set<String> held = queryIds(
                conn,
                "SELECT event_id FROM %1$s WHERE %2$s AND locked_by = ? AND status IN (0, 2) FOR UPDATE",
                eventIds,
                binder -> binder.text(token));
        updateIds(conn, "DELETE FROM %1$s WHERE %2$s", held, binder -> {}, binder -> {});
        return held;
    }

    /** Sorted, so that concurrent statements lock rows in the same order; in portions of a power of two, filled up by repetition, so that few statements are ever prepared. */
    private static List<List<String>> portions(Collection<String> ids) {
        List<String> sorted = ids.stream().sorted().toList();
        List<List<String>> portions = new ArrayList<>();
        for (int start = 0; start < sorted.size(); start += MAX_IDS) {
            List<String> portion = new ArrayList<>(sorted.subList(start, Math.min(sorted.size(), start + MAX_IDS)));
            int size = Math.min(MAX_IDS, Integer.highestOneBit(portion.size() * 2 - 1));
            while (portion.size() < size) {
                portion.add(portion.get(portion.size() - 1));
            }
            portions.add(portion);
        }
        return portions;
    }
}
