package outbox.jdbc;

import outbox.admin.EventDetails.Attempt;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.SqlStates;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.spi.ErrorText;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The history of attempts, in a side table that all outbox tables of a schema share. It is written in the
 * transaction that writes the outcomes, and a problem with the history must not prevent the outcomes. If the
 * database refuses a statement here, it is rolled back to a savepoint, and the side table is not used for a minute.
 * The same applies to a side table that lacks columns.
 */
final class AttemptStatements {

    static final String TABLE = "outbox_attempt";

    private static final String COLUMNS = "outbox_table, event_id, attempt, started_at, node, duration_ms, error";
    private static final Duration LOOK_AGAIN = Duration.ofMinutes(1);
    private static final List<String> PASSING = List.of("08", "40", "53", "55", "57", "58");
    private static final Logger LOG = SafeLogger.of(AttemptStatements.class);

    private final AbstractJdbcEventStore store;
    private final SideTable table;
    private volatile boolean present; // whether the table was found; any thread reads and writes it
    // Time of the next check while the table is missing. Any thread reads and writes it; two checks at the same time
    // do no harm.
    private volatile long nextLookNanos = System.nanoTime();

    AttemptStatements(AbstractJdbcEventStore store) {
        this.store = store;
        this.table = new SideTable(
                store,
                TABLE,
                Capability.ATTEMPTS,
                "there is no history of events",
                List.of(("attempt_id, " + COLUMNS).split(", ")));
    }

    /**
     * Whether the table exists. While it is missing, checks at most once a minute, because outcomes are written many
     * times per second.
     */
    boolean exist(Connection conn) {
        if (present) {
            return true;
        }
        if (System.nanoTime() - nextLookNanos < 0) {
            return false;
        }
        nextLookNanos = System.nanoTime() + LOOK_AGAIN.toNanos();
        return look(conn);
    }

    private boolean look(Connection conn) {
        present = store.run("check whether table " + table.name() + " exists", () -> table.look(conn) != null);
        return present;
    }

    /**
     * Runs a statement on the table. After an error, the table is checked again, because it may have been dropped
     * or changed.
     */
    private <T> T use(Connection conn, String what, T without, JdbcTable.Step<T> use) {
        return !look(conn)
                ? without
                : store.run(what, () -> {
                    try {
                        return use.run();
                    } catch (SQLException e) {
                        forget();
                        throw e;
                    }
                });
    }

    private void forget() {
        table.forget();
        present = false;
    }

    List<Attempt> read(Connection conn, String eventId) {
        // Binds: event_id, outbox_table.
        String sql = """
                SELECT attempt, started_at, node, duration_ms, error
                  FROM %s
                 WHERE event_id = ?
                   AND outbox_table = ?
                 ORDER BY attempt_id
                """.formatted(table.name());
        return use(
                conn,
                "read the attempts of event " + eventId,
                List.of(),
                () -> table.query(
                        conn,
                        sql,
                        binder -> binder.text(eventId).text(table.owner()),
                        (row, columns) -> attempt(eventId, row, columns)));
    }

    private static Attempt attempt(String eventId, ResultSet row, TableColumns columns) throws SQLException {
        Instant startedAt = columns.read(row, "started_at");
        return new Attempt(
                eventId,
                row.getInt("attempt"),
                startedAt == null ? Instant.EPOCH : startedAt,
                Duration.ofMillis(row.getLong("duration_ms")),
                row.getString("node"),
                row.getString("error"));
    }

    void add(Connection conn, List<Attempt> attempts, int keep) {
        use(
                conn,
                "write " + attempts.size() + " attempts",
                false,
                () -> unlessRefused(conn, () -> {
                    insert(conn, attempts);
                    return trim(conn, attempts.stream().map(Attempt::eventId).collect(Collectors.toSet()), keep);
                }));
    }

    /**
     * Runs a step and returns false if the database refused it. A temporary error, such as a deadlock, aborts the
     * transaction; the caller then repeats the whole transaction.
     */
    private boolean unlessRefused(Connection conn, JdbcTable.Step<Integer> step) throws SQLException {
        Savepoint before = conn.setSavepoint();
        try {
            step.run();
            conn.releaseSavepoint(before);
            return true;
        } catch (SQLException e) {
            if (SqlStates.of(e).isEmpty() || PASSING.stream().anyMatch(SqlStates.of(e)::startsWith)) {
                throw e;
            }
            conn.rollback(before);
            forget();
            nextLookNanos = System.nanoTime() + LOOK_AGAIN.toNanos();
            LOG.log(
                    Level.WARNING,
                    "Table " + table.name() + " cannot be used; outcomes are written without a history for a minute",
                    e);
            return false;
        }
    }

    private void insert(Connection conn, List<Attempt> attempts) throws SQLException {
        TableColumns columns = table.shape(conn);
        // Binds: the columns in their order.
        String sql = "INSERT INTO %s (%s) VALUES (?, ?, ?, ?, ?, ?, ?)".formatted(table.name(), COLUMNS);
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            for (Attempt attempt : attempts) {
                String error = attempt.error();
                new Binder(insert, columns)
                        .text(table.owner())
                        .text(attempt.eventId())
                        .number(attempt.number())
                        .time("started_at", attempt.startedAt())
                        .text(attempt.node())
                        .number(attempt.took().toMillis())
                        .text(error == null ? null : ErrorText.clean(error));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    /** The key of a row in the history. */
    private record Kept(String eventId, long attemptId) {}

    /**
     * Deletes the oldest rows of each event beyond {@code keep}. Reads them first and deletes them by key: MySQL
     * refuses a DELETE whose condition queries the same table, or reads the whole table for it.
     */
    private int trim(Connection conn, Collection<String> eventIds, int keep) throws SQLException {
        List<Long> tooMany = new ArrayList<>();
        for (List<String> some : store.portions(eventIds)) {
            // Binds: ids, outbox_table.
            String sql = """
                    SELECT event_id, attempt_id
                      FROM %s
                     WHERE %s
                       AND outbox_table = ?
                     ORDER BY attempt_id DESC
                    """.formatted(table.name(), store.idCondition(some.size()));
            List<Kept> newestFirst = store.queryAnew(
                    conn,
                    sql,
                    binder -> {
                        store.bindIds(binder, some);
                        binder.text(table.owner());
                    },
                    row -> new Kept(row.getString("event_id"), row.getLong("attempt_id")));
            newestFirst.stream()
                    .collect(Collectors.groupingBy(Kept::eventId))
                    .values()
                    .forEach(ofEvent -> ofEvent.stream().skip(keep).forEach(old -> tooMany.add(old.attemptId())));
        }
        return delete(conn, tooMany);
    }

    void forget(Connection conn, Collection<String> eventIds) {
        use(
                conn,
                "forget the attempts of " + eventIds.size() + " events",
                false,
                () -> unlessRefused(conn, () -> trim(conn, eventIds, 0)));
    }

    int purge(Connection conn, Instant before, int limit) {
        // Binds: outbox_table, started_at, limit.
        String sql = """
                SELECT a.attempt_id
                  FROM %s a
                 WHERE a.outbox_table = ?
                   AND a.started_at < ?
                   AND NOT EXISTS (SELECT 1 FROM %s e WHERE e.event_id = a.event_id)
                 ORDER BY a.attempt_id
                 LIMIT ?
                """.formatted(table.name(), store.table());
        return use(
                conn,
                "purge attempts",
                0,
                () -> delete(
                        conn,
                        table.query(
                                conn,
                                sql,
                                binder -> binder.text(table.owner())
                                        .time("started_at", before)
                                        .number(limit),
                                (row, columns) -> row.getLong(1))));
    }

    private int delete(Connection conn, List<Long> attemptIds) throws SQLException {
        if (attemptIds.isEmpty()) {
            return 0;
        }
        try (PreparedStatement delete =
                conn.prepareStatement("DELETE FROM " + table.name() + " WHERE attempt_id = ?")) {
            for (long attemptId : attemptIds) {
                delete.setLong(1, attemptId);
                delete.addBatch();
            }
            delete.executeBatch();
        }
        return attemptIds.size();
    }
}
