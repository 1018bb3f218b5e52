package outbox.benchmarks;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The delivery of raw JDBC: first whatever is in the table, then what is committed, handed over in memory. The queues are bounded by nothing but the size of the benchmark.
 */
final class LimitDelivery implements AutoCloseable {
    private static final int CLAIM = 500;
    private static final int GROUP = 1000;

    private final NodeSetup setup;
    private final LimitStatements statements;
    private final boolean pipelined;
    private final BlockingQueue<LimitRow> committed = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> delivered = new LinkedBlockingQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean started;
    private List<LimitRow> backlog = List.of(); // its first part; set before the threads start

    LimitDelivery(NodeSetup setup, LimitStatements statements, boolean pipelined) {
        this.setup = setup;
        this.statements = statements;
        this.pipelined = pipelined;
    }

    void committed(LimitRow row) {
        if (started) {
            committed.add(row);
        }
    }

    /** A backlog is there before the start, or there is none: what is committed later comes through memory only. */
    void start() throws SQLException {
        try (Connection connection = setup.dataSource().getConnection()) {
            connection.setAutoCommit(false);
            backlog = claim(connection);
            connection.setAutoCommit(true);
        }
        started = true;
        startThread("limit-delivery", this::deliver);
        if (pipelined) {
            startThread("limit-marker", this::markDelivered);
        }
    }

    /** What a thread does until it is interrupted, on a connection of its own. */
    private interface Loop {
        void run(Connection connection) throws InterruptedException, SQLException;
    }

    private void startThread(String name, Loop loop) {
        Thread thread = new Thread(
                () -> {
                    try (Connection connection = setup.dataSource().getConnection()) {
                        statements.prepare(connection);
                        connection.setAutoCommit(false);
                        loop.run(connection);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt(); // the end
                    } catch (SQLException e) {
                        throw new IllegalStateException("Raw JDBC failed", e);
                    }
                },
                name);
        threads.add(thread);
        thread.start();
    }

    private void deliver(Connection connection) throws InterruptedException, SQLException {
        for (List<LimitRow> rows = backlog; !rows.isEmpty(); rows = claim(connection)) {
            deliver(connection, rows);
        }
        List<LimitRow> rows = new ArrayList<>();
        while (true) {
            rows.add(committed.take());
            committed.drainTo(rows, GROUP - 1);
            deliver(connection, rows);
            rows.clear();
        }
    }

    private List<LimitRow> claim(Connection connection) throws SQLException {
        List<LimitRow> rows = new ArrayList<>();
        commit(connection, () -> {
            rows.clear();
            rows.addAll(statements.claim(connection, CLAIM));
        });
        return rows;
    }

    private void deliver(Connection connection, List<LimitRow> rows) throws SQLException {
        for (LimitRow row : rows) {
            setup.ledger().deliver(row.payload());
            if (pipelined) {
                delivered.add(row.id());
            }
        }
        if (!pipelined) {
            mark(connection, rows.stream().map(LimitRow::id).toList());
        }
    }

    private void markDelivered(Connection connection) throws InterruptedException, SQLException {
        List<String> ids = new ArrayList<>();
        while (true) {
            ids.add(delivered.take());
            delivered.drainTo(ids, GROUP - 1);
            mark(connection, ids);
            ids.clear();
        }
    }

    private void mark(Connection connection, List<String> ids) throws SQLException {
        commit(connection, () -> statements.mark(connection, ids));
    }

    /** A change that a deadlock may undo, which happens on MariaDB. */
    private interface Change {
        void make() throws SQLException;
    }

    private static void commit(Connection connection, Change change) throws SQLException {
        while (true) {
            try {
                change.make();
                connection.commit();
                return;
            } catch (SQLTransactionRollbackException e) {
                connection.rollback(); // and again
            }
        }
    }

    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
        Pause.until(() -> threads.stream().noneMatch(Thread::isAlive), Duration.ofSeconds(5));
    }
}
