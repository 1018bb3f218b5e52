package outbox.jdbc;

import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;
import outbox.spi.ErrorText;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Statements on events that a claim holds, in the standard table on PostgreSQL. One statement writes all failures,
 * and one deletes rows.
 */
final class PostgresHeldEvents extends HeldEventStatements {

    PostgresHeldEvents(AbstractJdbcEventStore store) {
        super(store, false);
    }

    @Override
    Set<String> delete(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        return store.queryHeldIds(
                conn,
                "DELETE FROM %1$s WHERE %2$s AND locked_by = ? AND status + 0 IN (0, 2) RETURNING event_id",
                eventIds,
                binder -> binder.text(token));
    }

    /** Binds: now, ids, tokens, whether to count the attempt, microseconds to add to now, errors. */
    @Override
    Set<String> markFailed(Connection conn, EventStatus status, List<Mark> marks, Instant now) throws SQLException {
        TableColumns shape = store.shape(conn);
        String timeColumn = status == EventStatus.DEAD ? "done_at" : "available_at";
        String sql = shape.text("mark " + status, () -> """
                UPDATE %1$s AS e
                   SET status = %2$d, attempts = e.attempts + m.counted,
                       %3$s = CAST(? AS %4$s) + m.wait * INTERVAL '1 microsecond',
                       last_error = m.error, locked_by = NULL, locked_at = NULL
                  FROM unnest(CAST(? AS varchar[]), CAST(? AS varchar[]), CAST(? AS int[]), CAST(? AS bigint[]),
                              CAST(? AS text[])) AS m (event_id, token, counted, wait, error)
                 WHERE e.event_id = m.event_id
                   AND e.locked_by = m.token
                   AND e.status + 0 IN (0, 2)
                RETURNING e.event_id
                """.formatted(
                store.table(), status.code(), timeColumn, shape.isZoned(timeColumn) ? "timestamptz" : "timestamp"));
        List<Integer> counted =
                marks.stream().map(mark -> mark.countsAttempt() ? 1 : 0).toList();
        List<Long> waits = marks.stream()
                .map(mark -> TimeUnit.NANOSECONDS.toMicros(mark.retryAfter().toNanos()))
                .toList();
        return Set.copyOf(store.queryHeld(
                conn,
                sql,
                binder -> binder.time(timeColumn, now)
                        .array(marks.stream().map(Mark::eventId).toList())
                        .array(marks.stream().map(Mark::token).toList())
                        .array("int4", counted)
                        .array("int8", waits)
                        .array(marks.stream()
                                .map(mark -> ErrorText.clean(mark.error()))
                                .toList()),
                row -> row.getString(1)));
    }
}
