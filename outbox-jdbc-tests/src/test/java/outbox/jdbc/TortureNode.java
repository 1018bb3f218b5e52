package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The main program of one node of the torture test. It changes the row of an aggregate and writes its event, and
 * delivers in order. It stops writing when the given file appears, and delivers until it is ended. Arguments: JDBC
 * URL, name of the database, path of its ledger, path of the file that ends the writing, seed.
 */
final class TortureNode {

    static final Duration LEASE = Duration.ofSeconds(2);
    static final int AGGREGATES = 64;
    private static final int WRITERS = 2;
    // A lease is renewed after a third of it, so a shorter pause loses no lease and explains no duplicate.
    private static final Duration NOTICEABLE = LEASE.dividedBy(2);

    private final HikariDataSource pool;
    private final TortureLedger ledger;
    private final Path end;
    private final long seed;
    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final JdbcTransactionManager transactions;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final OutboxWriter hot;
    private final OutboxWriter cold;
    private volatile boolean closing; // written by the shutdown hook

    private TortureNode(String url, AbstractJdbcEventStore store, Path ledger, Path end, long seed) throws Exception {
        this.pool = Databases.newPool(url, 8, true);
        this.ledger = new TortureLedger(ledger);
        this.end = end;
        this.seed = seed;
        this.transactions = new JdbcTransactionManager(pool::getConnection, txContext);
        Random delays = new Random(seed);
        this.dispatcher = OutboxDispatcher.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(store)
                .listenerRegistry((aggregateType, eventType) -> this::receive)
                .ordering(Ordering.perAggregate())
                .retryPolicy(attempts -> 20 + delays.nextInt(31))
                .leaseDuration(LEASE)
                .build();
        this.poller = OutboxPoller.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(200)
                .lockTimeout(LEASE)
                .build();
        this.hot = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher));
        this.cold = new OutboxWriter(txContext, store);
    }

    public static void main(String[] args) throws Exception {
        TortureNode node = new TortureNode(
                args[0],
                Databases.valueOf(args[1]).store(),
                Path.of(args[2]),
                Path.of(args[3]),
                Long.parseLong(args[4]));
        Runtime.getRuntime().addShutdownHook(new Thread(node::close));
        node.live();
        new CountDownLatch(1).await(); // the test ends this process
    }

    private void live() {
        start(this::watch);
        poller.start();
        for (int i = 0; i < WRITERS; i++) {
            Random random = new Random(seed * 31 + i);
            start(() -> writeUntilTheEnd(random));
        }
        System.out.println("UP");
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
    }

    private void close() {
        closing = true;
        poller.close();
        dispatcher.close();
        pool.close();
        System.out.println("CLOSED");
    }

    /** Detects that the process was frozen. On a busy machine this can happen without a signal. */
    private void watch() {
        for (long last = System.nanoTime(); ; ) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
            long now = System.nanoTime();
            if (now - last > NOTICEABLE.toNanos()) {
                ledger.stoodStill(last, now);
            }
            last = now;
        }
    }

    private void receive(EventEnvelope event) throws InterruptedException {
        Random random = new Random(seed ^ System.nanoTime());
        long run = ledger.start(
                event.eventId(),
                Objects.requireNonNull(event.aggregateId()),
                Objects.requireNonNull(event.payloadJson()));
        long end =
                System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(random.nextInt(100) == 0 ? 300 : random.nextInt(6));
        while (System.nanoTime() < end && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
        if (Thread.interrupted()) {
            ledger.end(run, TortureLedger.End.FAILED);
            throw new InterruptedException("cut short");
        }
        if (random.nextInt(100) < 3) {
            ledger.end(run, TortureLedger.End.FAILED);
            throw new IllegalStateException("three of a hundred runs fail");
        }
        ledger.end(run, TortureLedger.End.OK);
    }

    private void writeUntilTheEnd(Random random) {
        while (!closing && !Files.exists(end)) {
            try {
                write(random);
            } catch (SQLException | OutboxException | IllegalStateException e) {
                System.out.println("NOT WRITTEN " + e); // the business table shows what was committed
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10 + random.nextInt(20)));
        }
    }

    private void write(Random random) throws SQLException {
        // some aggregates get more events than others
        int aggregate = Math.min(random.nextInt(AGGREGATES), random.nextInt(AGGREGATES));
        int events = 1 + random.nextInt(3);
        OutboxWriter writer = random.nextInt(5) == 0 ? cold : hot;
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            int last = raiseVersion(tx.connection(), aggregate, events);
            List<EventEnvelope> written = new ArrayList<>();
            for (int version = last - events + 1; version <= last; version++) {
                written.add(EventEnvelope.builder("T")
                        .aggregateType("Account")
                        .aggregateId(Integer.toString(aggregate))
                        .payloadJson(Integer.toString(version))
                        .build());
            }
            writer.writeAll(written);
            if (random.nextInt(20) == 0) {
                tx.rollback();
            } else {
                tx.commit();
            }
        }
    }

    private static int raiseVersion(Connection connection, int aggregate, int by) throws SQLException {
        try (PreparedStatement update =
                        connection.prepareStatement("UPDATE account SET version = version + ? WHERE id = ?");
                PreparedStatement select = connection.prepareStatement("SELECT version FROM account WHERE id = ?")) {
            update.setInt(1, by);
            update.setInt(2, aggregate);
            update.executeUpdate();
            select.setInt(1, aggregate);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getInt(1);
            }
        }
    }
}
