package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.admin.Attempt;
import outbox.spi.ErrorText;
import outbox.spi.SafeLogger;

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
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * The history of attempts, in a table of its own that all outbox tables of a schema share. Outcomes are written in the same transaction, and must be written whatever is wrong with the
 * history: what the database refuses here is undone up to a savepoint, and the table is left alone for a minute. So is one that lacks columns.
 */
final class AttemptStatements {

    private static final List<String> COLUMNS =
            List.of("attempt_id", "outbox_table", "event_id", "attempt", "started_at", "node", "duration_ms", "error");

    private static final Duration LOOK_AGAIN = Duration.ofMinutes(1);
    private static final List<String> PASSING = List.of("08", "40", "53", "55", "57", "58");
    private static final Logger LOG = SafeLogger.of(AttemptStatements.class);

    private final AbstractJdbcEventStore store;
    private final TableName table;
    private volatile @Nullable TableShape shape; // read when the table is there; reading it twice does no harm
    private volatile long nextLookNanos = System.nanoTime(); // while there is none

    AttemptStatements(AbstractJdbcEventStore store) {
        this.store = store;
        this.table = table(store);
    }

    /** The table of attempts beside the table of the store. */
    static TableName table(AbstractJdbcEventStore store) {
        return store.table().sibling("outbox_attempt");
    }

    /** Looks for the table at most once a minute while there is none: outcomes are written many times a second. */
    boolean exist(Connection conn) {
        if (shape != null) {
            return true;
        }
        if (System.nanoTime() - nextLookNanos < 0) {
            return false;
        }
        nextLookNanos = System.nanoTime() + LOOK_AGAIN.toNanos();
        return look(conn) != null;
    }

    private @Nullable TableShape look(Connection conn) {
        TableShape known = shape;
        if (known == null) {
            known = store.run("look for table " + table + " beside", () -> {
                boolean there = store.hasTable(conn, table);
                return there ? TableShape.readAny(conn, table) : TableShape.NONE;
            });
            if (!known.missing(COLUMNS).isEmpty()) {
                return null;
            }
            shape = known;
        }
        return known;
    }

    /** A step that uses the table. */
    private interface Use<T> {
        T on(TableShape columns) throws SQLException;
    }

    /** Somebody may have dropped or changed the table meanwhile: then it is looked at again. */
    private <T> T use(Connection conn, String what, T without, Use<T> use) {
        TableShape columns = look(conn);
        return columns == null
                ? without
                : store.run(what, () -> {
                    try {
                        return use.on(columns);
                    } catch (SQLException e) {
                        shape = null;
                        throw e;
                    }
                });
    }

    List<Attempt> read(Connection conn, String eventId) {
        // Binds: event_id, outbox_table.
        String sql = """
                SELECT attempt, started_at, node, duration_ms, error
                  FROM %s
                 WHERE event_id = ?
                   AND outbox_table = ?
                 ORDER BY attempt_id
                """.formatted(table);
        return use(
                conn,
                "read the attempts of event " + eventId,
                List.of(),
                columns -> store.query(
                        conn,
                        sql,
                        binder -> binder.text(eventId).text(owner()),
                        row -> attempt(eventId, row, columns)));
    }

    private static Attempt attempt(String eventId, ResultSet row, TableShape columns) throws SQLException {
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
                columns -> unlessRefused(conn, () -> {
                    insert(conn, attempts, columns);
                    return trim(conn, attempts.stream().map(Attempt::eventId).collect(Collectors.toSet()), keep);
                }));
    }

    /** What may pass by itself, such as a deadlock, ends the transaction, and is tried again with it. */
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
            shape = null;
            nextLookNanos = System.nanoTime() + LOOK_AGAIN.toNanos();
            LOG.log(
                    Level.WARNING,
                    "Table " + table + " cannot be used; outcomes are written without a history for a minute",
                    e);
            return false;
        }
    }

    private void insert(Connection conn, List<Attempt> attempts, TableShape columns) throws SQLException {
        // Binds: the columns in their order.
        String sql = """
                INSERT INTO %s (outbox_table, event_id, attempt, started_at, node, duration_ms, error)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """.formatted(table);
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            for (Attempt attempt : attempts) {
                String error = attempt.error();
                new Binder(insert, columns)
                        .text(owner())
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

    /** A row of the history. */
    private record Kept(String eventId, long attemptId) {}

    /** Reads which are too many and deletes those by their key: a DELETE with a condition on its own table is refused by MySQL, or reads all of it. */
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
                    """.formatted(table, store.idCondition(some.size()));
            List<Kept> newestFirst = store.queryAnew(
                    conn,
                    sql,
                    binder -> {
                        store.bindIds(binder, some);
                        binder.text(owner());
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
                columns -> unlessRefused(conn, () -> trim(conn, eventIds, 0)));
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
                """.formatted(table, store.table());
        return use(conn, "purge attempts", 0, columns -> {
            List<Long> orphans = new ArrayList<>();
            try (PreparedStatement select = conn.prepareStatement(sql)) {
                new Binder(select, columns)
                        .text(owner())
                        .time("started_at", before)
                        .number(limit);
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        orphans.add(rows.getLong(1));
                    }
                }
            }
            return delete(conn, orphans);
        });
    }

    private int delete(Connection conn, List<Long> attemptIds) throws SQLException {
        if (attemptIds.isEmpty()) {
            return 0;
        }
        try (PreparedStatement delete = conn.prepareStatement("DELETE FROM " + table + " WHERE attempt_id = ?")) {
            for (long attemptId : attemptIds) {
                delete.setLong(1, attemptId);
                delete.addBatch();
            }
            delete.executeBatch();
        }
        return attemptIds.size();
    }

    /** In one case everywhere, as databases do not tell names of tables apart by theirs. */
    private String owner() {
        return store.table().simpleName().toLowerCase(Locale.ROOT);
    }
}
