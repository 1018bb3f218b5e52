package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Finds the sessions that hold the lock for which another session waits. It queries the database on a second
 * connection while the first one waits.
 */
final class Blockers {

    /** Binds: process id of the waiting session. */
    private static final String POSTGRES = """
            SELECT b.pid, a.usename, a.application_name, a.state, a.xact_start, LEFT(a.query, 120)
              FROM unnest(pg_blocking_pids(?)) AS b (pid)
              LEFT JOIN pg_stat_activity a ON a.pid = b.pid
            """;

    /** Binds: id of the waiting connection. */
    private static final String MARIADB = """
            SELECT b.trx_mysql_thread_id, p.user, p.host, p.command, b.trx_started, LEFT(p.info, 120)
              FROM information_schema.innodb_lock_waits w
              JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id
              JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id
              LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id
             WHERE r.trx_mysql_thread_id = ?
            """;

    /**
     * Binds: id of the waiting connection. "+ 0" prevents MySQL 8.0.12 from using its indexes: with them the join
     * finds no rows.
     */
    private static final String MYSQL = """
            SELECT b.trx_mysql_thread_id, p.user, p.host, p.command, b.trx_started, LEFT(p.info, 120)
              FROM performance_schema.data_lock_waits w
              JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id + 0
              JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id + 0
              LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id
             WHERE r.trx_mysql_thread_id = ?
            """;

    // the limit is divided into this many intervals; the last look would come too late
    private static final int LOOKS = 4;

    private static final ScheduledExecutorService TIMER = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "outbox-blockers");
        thread.setDaemon(true);
        return thread;
    });

    private final int session;
    private final @Nullable String sql;
    private final String ending;
    private final LimitedConnection.Opener opener;

    private Blockers(int session, @Nullable String sql, String ending, LimitedConnection.Opener opener) {
        this.session = session;
        this.sql = sql;
        this.ending = ending;
        this.opener = opener;
    }

    static Blockers of(Connection waiting, String product, LimitedConnection.Opener opener) throws SQLException {
        if (product.equals("postgresql")) {
            return ask(
                    waiting,
                    "SELECT pg_backend_pid(), version()",
                    row -> new Blockers(row.getInt(1), POSTGRES, "SELECT pg_terminate_backend(%d)", opener));
        }
        if (product.equals("mysql")) {
            return ask(
                    waiting,
                    "SELECT CONNECTION_ID(), VERSION()",
                    row -> new Blockers(
                            row.getInt(1), row.getString(2).contains("MariaDB") ? MARIADB : MYSQL, "KILL %d", opener));
        }
        return new Blockers(0, null, "", opener);
    }

    @FunctionalInterface
    private interface Reader {
        Blockers read(ResultSet row) throws SQLException;
    }

    private static Blockers ask(Connection waiting, String sql, Reader reader) throws SQLException {
        try (Statement statement = waiting.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return reader.read(row);
        }
    }

    /** Looks for blockers at intervals until the returned object is closed. */
    Watch watch(Duration limit) {
        return new Watch(limit);
    }

    /** Watches one statement that may wait for a lock. */
    final class Watch implements AutoCloseable {

        private final long endNanos;
        private final @Nullable Future<?> looks;
        private volatile @Nullable String found; // written by the timer

        private Watch(Duration limit) {
            endNanos = System.nanoTime() + limit.toNanos();
            long pause = limit.toMillis() / LOOKS;
            looks = sql == null ? null : TIMER.scheduleWithFixedDelay(this::look, pause, pause, TimeUnit.MILLISECONDS);
        }

        private void look() {
            try {
                String now = ask();
                found = now == null ? found : now;
            } catch (SQLException e) {
                // No blocker is reported; the waiting statement itself fails soon.
            }
        }

        /** The sessions that last held the lock, and how to end them. */
        @Nullable
        String found() {
            return found;
        }

        /** Whether the time limit has passed. */
        boolean isOver() {
            return System.nanoTime() - endNanos >= 0;
        }

        @Override
        public void close() {
            if (looks != null) {
                looks.cancel(false);
            }
        }
    }

    private @Nullable String ask() throws SQLException {
        List<String> blockers = new ArrayList<>();
        try (Connection connection = opener.open();
                PreparedStatement select = connection.prepareStatement(String.valueOf(sql))) {
            select.setInt(1, session);
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    blockers.add(words(row));
                }
            }
        }
        return blockers.isEmpty() ? null : PrintableText.of(String.join(" ", blockers));
    }

    private String words(ResultSet row) throws SQLException {
        long id = row.getLong(1);
        return "It waits for a lock of session " + id + " (user " + row.getString(2) + ", " + row.getString(3)
                + ", " + row.getString(4) + ", transaction since " + row.getString(5) + ", last statement: "
                + row.getString(6) + "). Let that end, or end it: " + ending.formatted(id) + ".";
    }
}
