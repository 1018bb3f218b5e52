package outbox.jdbc;

import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventDetails;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.EventFilter;
import outbox.jdbc.internal.claim.LayoutFence.Piece;
import outbox.jdbc.internal.purge.PurgeSearch;
import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The statements for administration of the standard table. */
final class StandardAdmin extends AdminStatements {

    private final AbstractJdbcEventStore store;
    private final AttemptStatements attempts;
    private final ReplayStatements replays;
    private final PurgeSearch purgeSearch;

    StandardAdmin(AbstractJdbcEventStore store, AttemptStatements attempts) {
        super(store);
        this.store = store;
        this.attempts = attempts;
        this.replays = new ReplayStatements(store);
        this.purgeSearch = store.dialect().newPurgeSearch(store);
    }

    @Override
    String from() {
        return store.sqlName();
    }

    @Override
    TableColumns shape(Connection conn) throws SQLException {
        return store.shape(conn);
    }

    @Override
    FilterSql filter(Connection conn, EventFilter filter) throws SQLException {
        if (filter.dedupKey() != null && !store.shapeWith(conn, "dedup_key").has("dedup_key")) {
            throw Capability.KEYS.missingIn(store, "dedup_key", "its events have no keys");
        }
        return new FilterSql(store.dialect(), filter);
    }

    @Override
    Optional<EventDetails> find(Connection conn, String eventId) throws SQLException {
        TableColumns shape = store.shape(conn);
        // Binds: event_id.
        String sql = """
                SELECT %s, status, done_at, locked_by, locked_at, last_error
                  FROM %s
                 WHERE event_id = ?
                """.formatted(store.rows().columns(shape, Reading.WHOLE), store.table());
        List<Attempt> history = attempts.read(conn, eventId);
        return query(
                        conn,
                        sql,
                        binder -> binder.text(eventId),
                        row -> details(row, shape, store.rows().whole(row, shape), history))
                .stream()
                .findFirst();
    }

    /**
     * Sorts by order number, if the table has it. Changes in portions then never leave a dead event before a pending
     * event of the same aggregate, which would be blocked again. A skipped event has its number with a minus sign.
     */
    @Override
    String oldestFirst(Connection conn) throws SQLException {
        return store.shapeWith(conn, OrderStatements.COLUMN).has(OrderStatements.COLUMN)
                ? "ABS(seq)"
                : super.oldestFirst(conn);
    }

    @Override
    int replay(Connection conn, List<String> eventIds, Replay how) throws SQLException {
        return replays.replay(conn, eventIds, how);
    }

    /**
     * An event is never delivered before it is due, so the condition on available_at changes nothing; it lets the
     * database use the index (status, available_at, created_at). An event that was marked by hand before its due
     * time is only purged later. A dead event may have expired before it was due, and keeps no key.
     */
    @Override
    Piece isEnded(Connection conn, EventStatus terminal, Instant doneBefore) throws SQLException {
        return terminal == EventStatus.DONE
                ? new Piece(
                        "status = 1 AND available_at < ? AND done_at < ? "
                                + store.control().keyIsOver(store.shape(conn)),
                        binder -> binder.time("available_at", doneBefore).time("done_at", doneBefore))
                : new Piece("status = 3 AND done_at < ?", binder -> binder.time("done_at", doneBefore));
    }

    @Override
    List<String> findEnded(Connection conn, EventStatus terminal, Piece isEnded, Instant doneBefore, int limit)
            throws SQLException {
        Optional<List<String>> found = purgeSearch.find(conn, terminal, isEnded, doneBefore, limit);
        return found.isPresent() ? found.get() : super.findEnded(conn, terminal, isEnded, doneBefore, limit);
    }
}
