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
 * The delivery of raw JDBC: first all events in the table, then new events, which are passed in memory after their
 * commit. Only the size of the benchmark bounds the queues.
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
    private List<LimitRow> backlog = List.of(); // the first part of the backlog; set before the threads start

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

    /** The whole backlog exists before the start. Events that are committed later are passed in memory only. */
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

    /** The loop of a thread until it is interrupted, on its own connection. */
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
                        Thread.currentThread().interrupt(); // ends the loop
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

    /** A change that is repeated after a deadlock, which occurs on MariaDB. */
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
                connection.rollback(); // then try again
            }
        }
    }

    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
        Pause.until(() -> threads.stream().noneMatch(Thread::isAlive), Duration.ofSeconds(5));
    }
}
