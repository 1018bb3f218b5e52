package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.spi.Leadership;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * The main program of a node that delivers only while it leads. It publishes into the table {@code published}, where
 * the database numbers the rows. Arguments: JDBC URL, name of the database, name of the node.
 */
final class LeaderNode {

    static final Duration POLL_INTERVAL = Duration.ofSeconds(1);
    // type of an event whose listener waits after it has published
    static final String HOLD = "hold";
    // a new leader does not wait for the leases of the previous one
    private static final Duration LEASE = Duration.ofMinutes(5);

    private LeaderNode() {}

    public static void main(String[] args) throws Exception {
        Databases database = Databases.valueOf(args[1]);
        DataSource pool = Databases.newPool(args[0], 6, true);
        Leadership leadership =
                JdbcLeadership.of(pool, AbstractJdbcEventStore.DEFAULT_TABLE, POLL_INTERVAL.dividedBy(2));
        OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(database.store())
                .listenerRegistry((aggregateType, type) -> event -> publish(pool, args[2], event))
                .ordering(Ordering.perAggregate())
                .leadership(leadership)
                .build();
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(database.store())
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(POLL_INTERVAL.toMillis())
                .lockTimeout(LEASE)
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            poller.close();
            dispatcher.close();
            leadership.close();
            System.out.println("CLOSED");
        }));
        poller.start();
        System.out.println("STARTED");
        new CountDownLatch(1).await(); // the test ends this process
    }

    private static void publish(DataSource pool, String node, EventEnvelope event) throws Exception {
        try (Connection connection = pool.getConnection();
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO published (node, aggregate, number) VALUES (?, ?, ?)")) {
            insert.setString(1, node);
            insert.setString(2, OrderLog.aggregate(event));
            insert.setInt(3, OrderLog.number(event));
            insert.executeUpdate();
        }
        if (event.eventType().equals(HOLD)) {
            System.out.println("HOLDS " + OrderLog.number(event));
            new CountDownLatch(1).await(1500, TimeUnit.MILLISECONDS);
        }
    }
}
