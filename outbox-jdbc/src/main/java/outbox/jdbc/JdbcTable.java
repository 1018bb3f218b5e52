package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;
import outbox.spi.ErrorText;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
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
            known = readShape(conn);
            shape = known;
        }
        return known;
    }

    TableShape readShape(Connection conn) throws SQLException {
        return TableShape.read(conn, table);
    }

    /** How statements name the table. */
    String sqlName() {
        return table.value();
    }

    /** Looks at the table again if the shape that is known has no such column: it may have got one meanwhile. */
    final TableShape shapeWith(Connection conn, String column) throws SQLException {
        TableShape known = shape(conn);
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
            return all(rows, mapper);
        }
    }

    static <T> List<T> all(ResultSet rows, RowMapper<T> mapper) throws SQLException {
        List<T> found = new ArrayList<>();
        while (rows.next()) {
            found.add(mapper.map(rows));
        }
        return found;
    }

    /** A query that is planned for each execution, where a plan of before could be kept too long. */
    <T> List<T> queryAnew(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        return query(conn, sql, binds, mapper);
    }

    /** A query whose plan may be kept, because it goes by an index whatever the planner knows of the table. Only for transactions of the library: it may change their settings. */
    <T> List<T> queryByIndex(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        return queryAnew(conn, sql, binds, mapper);
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

    /** An update on the terms of {@link #queryAnew}. */
    int updateAnew(Connection conn, String sql, Binds binds) throws SQLException {
        return update(conn, sql, binds);
    }

    /**
     * An update of events that a claim holds, in a transaction of the library: it waits for a locked row only briefly,
     * where the database can be told so.
     */
    int updateHeld(Connection conn, String sql, Binds binds) throws SQLException {
        return updateAnew(conn, sql, binds);
    }

    /** A query on the terms of {@link #updateHeld}. */
    <T> List<T> queryHeld(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        return queryAnew(conn, sql, binds, mapper);
    }

    /**
     * Whether an UPDATE cannot be kept from waiting for a locked row, so that its rows must be locked by {@link
     * #lockHeld} before it.
     */
    boolean locksFirst() {
        return false;
    }

    /** What makes a SELECT lock its rows, and wait for none of them longer than {@link #updateHeld} would. */
    String lockNow() {
        return "FOR UPDATE";
    }

    /** The condition that event_id is one of {@code count} ids. */
    protected String idCondition(int count) {
        return "event_id IN (?" + ", ?".repeat(count - 1) + ")";
    }

    /** Whether {@link #idCondition} is the same for any number of ids, because they are bound as an array. */
    boolean idsInArray() {
        return false;
    }

    /** Binds the ids of {@link #idCondition}. */
    void bindIds(Binder binder, List<String> ids) throws SQLException {
        binder.texts(ids);
    }

    /** Runs an update for many ids, some at a time: {@code %1$s} is the table, {@code %2$s} the condition on the id. */
    final int updateIds(Connection conn, String sql, Collection<String> ids, Binds before, Binds after)
            throws SQLException {
        return updateIds(conn, this::updateAnew, sql, ids, before, after);
    }

    /** The same, on the terms of {@link #updateHeld}. */
    final int updateHeldIds(Connection conn, String sql, Collection<String> ids, Binds before, Binds after)
            throws SQLException {
        return updateIds(conn, this::updateHeld, sql, ids, before, after);
    }

    /** Runs an UPDATE. */
    @FunctionalInterface
    private interface Update {
        int run(Connection conn, String sql, Binds binds) throws SQLException;
    }

    private int updateIds(Connection conn, Update update, String sql, Collection<String> ids, Binds before, Binds after)
            throws SQLException {
        int count = 0;
        for (List<String> some : portions(ids)) {
            count += update.run(conn, idsText(conn, sql, some.size()), binder -> {
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

    /** The same, on the terms of {@link #updateHeld}. */
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

    /** Reads the rows of many ids, some at a time. {@code %1$s} and {@code %2$s} as in {@link #updateIds}. */
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

    /** What makes a statement find its rows by their key whatever the size of the table, after the name of the table; empty where it does so anyway. */
    String byPrimaryKey() {
        return "";
    }

    /**
     * Locks those of the events that the token holds, and returns them. Fails if another transaction keeps one of them
     * locked.
     */
    Set<String> lockHeld(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        return queryHeldIds(
                conn,
                "SELECT event_id FROM %1$s WHERE %2$s AND locked_by = ? AND status + 0 IN (0, 2) " + lockNow(),
                eventIds,
                binder -> binder.text(token));
    }

    /** Deletes those of the events that the token holds, and answers them. */
    Set<String> deleteHeld(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        Set<String> held = lockHeld(conn, token, eventIds);
        updateHeldIds(conn, "DELETE FROM %1$s WHERE %2$s", held, binder -> {}, binder -> {});
        return held;
    }

    /** Where a failed event keeps the time of its outcome: when a RETRY is due, or when it became DEAD. */
    static String failureTime(EventStatus status) {
        return status == EventStatus.DEAD ? "done_at" : "available_at";
    }

    /**
     * Writes outcomes of one status other than DONE, and answers those whose token still held the event. Which ones is told by the lock, not by the counts of the batch: a driver that
     * sends it in one go may not know them.
     */
    Set<String> markFailed(Connection conn, EventStatus status, List<Mark> marks, Instant now) throws SQLException {
        TableShape shape = shape(conn);
        // Binds: attempts to add, time, last_error, event_id, token.
        String sql = shape.text("mark " + status, () -> """
                UPDATE %s
                   SET status = %d, attempts = attempts + ?, %s = ?, last_error = ?, locked_by = NULL, locked_at = NULL
                 WHERE event_id = ?
                   AND locked_by = ?
                   AND status + 0 IN (0, 2)
                """.formatted(table, status.code(), failureTime(status)));
        if (marks.size() == 1 && !locksFirst()) {
            return update(conn, sql, binder -> bindFailed(binder, marks.get(0), now)) > 0
                    ? Set.of(marks.get(0).eventId())
                    : Set.of();
        }
        Set<String> held = new HashSet<>();
        for (Map.Entry<String, List<String>> of :
                HeldEventStatements.idsByToken(marks).entrySet()) {
            held.addAll(lockHeld(conn, of.getKey(), of.getValue()));
        }
        List<Mark> ours =
                marks.stream().filter(mark -> held.contains(mark.eventId())).toList();
        if (!ours.isEmpty()) {
            updateBatch(conn, sql, ours, now);
        }
        return held;
    }

    private void updateBatch(Connection conn, String sql, List<Mark> marks, Instant now) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            for (Mark mark : marks) {
                bindFailed(new Binder(update, shape(conn)), mark, now);
                update.addBatch();
            }
            update.executeBatch();
        }
    }

    private static void bindFailed(Binder binder, Mark mark, Instant now) throws SQLException {
        binder.number(mark.countsAttempt() ? 1 : 0)
                .time(failureTime(mark.status()), now.plus(mark.retryAfter()))
                .text(ErrorText.clean(mark.error()))
                .text(mark.eventId())
                .text(mark.token());
    }

    /**
     * Sorted, so that concurrent statements lock rows in the same order. Where each id is a parameter, in portions of a power of two, filled up by repetition, so that few
     * statements are ever prepared.
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
