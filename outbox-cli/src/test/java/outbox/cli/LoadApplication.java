package outbox.cli;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.OutboxMessage;
import outbox.jdbc.OutboxPublisher;
import outbox.jdbc.PostgresEventStore;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.micrometer.OutboxMeters;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An application that changes orders and writes their events into three tables in one transaction. It delivers the
 * events of {@code outbox_event} itself, in the order of each aggregate; relays deliver {@code mail_event} and {@code
 * org_outbox}. Every tenth transaction is rolled back, some events are due later, and some fail at their first
 * attempt.
 */
final class LoadApplication implements AutoCloseable {

    static final List<String> TABLES = List.of("outbox_event", "mail_event", "org_outbox");

    private static final List<String> TYPES = List.of("order.placed", "order.paid", "order.shipped");
    private static final List<String> TOPICS = List.of("org.user.created.v1", "org.user.renamed.v1");
    private static final List<String> MAILS = List.of("mail.welcome", "mail.invoice");
    private static final String FAILING = "\"fails\": true"; // the same text as JSONB prints it
    private static final int ORDERS = 20;
    private static final int ROLLBACK_EACH = 10; // every n-th transaction
    private static final int FAILURE_EACH = 23; // every n-th transaction
    private static final int DELAY_EACH = 7; // every n-th transaction

    private final LoadLedger ledger;
    private final Duration longestDelay;
    private final HikariDataSource dataSource;
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final JdbcTransactionManager transactions;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final OutboxPurge purge;
    private final OutboxWriter orders;
    private final OutboxWriter mails;
    private final OutboxPublisher users;
    private final AtomicInteger written = new AtomicInteger(); // transactions
    private final Map<String, List<Integer>> delivered = new ConcurrentHashMap<>(); // numbers, by order

    LoadApplication(String url, LoadLedger ledger, Duration retention, Duration longestDelay) throws SQLException {
        this.ledger = ledger;
        this.longestDelay = longestDelay;
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(8);
        dataSource = new HikariDataSource(config);
        createOrders();
        PostgresEventStore store = new PostgresEventStore();
        OutboxAdmin admin = new OutboxAdmin(dataSource::getConnection, store);
        OutboxMeters meters = OutboxMeters.builder(registry, "public.outbox_event")
                .backlog(admin::backlog)
                .dead(admin::deadEvents)
                .build();
        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .listenerRegistry((aggregateType, eventType) -> this::receive)
                .ordering(Ordering.perAggregate())
                .metrics(meters)
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(1_000)
                .metrics(meters)
                .build();
        purge = OutboxPurge.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .retention(retention)
                .interval(Duration.ofSeconds(20))
                .metrics(meters)
                .build();
        transactions = new JdbcTransactionManager(dataSource::getConnection, txContext);
        orders = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher)).countedBy(meters);
        mails = new OutboxWriter(txContext, new PostgresEventStore("mail_event")).countedBy(writes("mail_event"));
        users = new OutboxPublisher().countedBy("public.org_outbox", writes("org_outbox"));
        poller.start();
        purge.start();
    }

    private OutboxMeters writes(String table) {
        return OutboxMeters.builder(registry, "public." + table).build();
    }

    private void createOrders() throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            connection
                    .createStatement()
                    .execute("CREATE TABLE orders AS SELECT 'o-' || i AS id, 0 AS changes FROM generate_series(0, "
                            + (ORDERS - 1) + ") i");
        }
    }

    /** One transaction with an event for each table. */
    void write() throws SQLException {
        int number = written.getAndIncrement();
        boolean fails = number % FAILURE_EACH == 0;
        boolean commits = number % ROLLBACK_EACH != ROLLBACK_EACH - 1;
        Map<String, Boolean> events = new LinkedHashMap<>(); // event id → whether the first attempt fails
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            EventEnvelope change = changeOrder(tx.connection(), number, fails);
            orders.write(change);
            events.put(change.eventId(), fails);
            EventEnvelope mail = mail(number, fails);
            mails.write(mail);
            events.put(mail.eventId(), fails);
            events.put(writeUser(tx.connection(), number, fails), fails);
            if (number % DELAY_EACH == 0) {
                EventEnvelope reminder = EventEnvelope.builder("order.reminder")
                        .payloadJson("{}")
                        .deliverAfter(delay(number))
                        .build();
                orders.write(reminder);
                events.put(reminder.eventId(), false);
            }
            if (commits) {
                tx.commit();
            }
        }
        events.forEach((eventId, failsFirst) -> expect(eventId, commits, failsFirst));
    }

    private void expect(String eventId, boolean isCommitted, boolean fails) {
        if (isCommitted) {
            ledger.committed(eventId, fails ? 1 : 0);
        } else {
            ledger.rolledBack(eventId);
        }
    }

    /** The row lock of the order serializes the transactions of that order. */
    private EventEnvelope changeOrder(Connection connection, int number, boolean fails) throws SQLException {
        String id = "o-" + number * 7 % ORDERS; // consecutive transactions use different orders
        String sql = "UPDATE orders SET changes = changes + 1 WHERE id = ? RETURNING changes";
        try (PreparedStatement update = connection.prepareStatement(sql)) {
            update.setString(1, id);
            try (ResultSet row = update.executeQuery()) {
                row.next();
                return EventEnvelope.builder(TYPES.get(number % TYPES.size()))
                        .aggregateType("Order")
                        .aggregateId(id)
                        .header("change", String.valueOf(row.getInt(1)))
                        .payloadJson(payload(fails))
                        .build();
            }
        }
    }

    private EventEnvelope mail(int number, boolean fails) {
        EventEnvelope.Builder mail =
                EventEnvelope.builder(MAILS.get(number % MAILS.size())).payloadJson(payload(fails));
        return (number % DELAY_EACH == 1 ? mail.deliverAfter(delay(number)) : mail).build();
    }

    private String writeUser(Connection connection, int number, boolean fails) throws SQLException {
        UUID eventId = UUID.randomUUID();
        OutboxMessage message =
                new OutboxMessage(UUID.randomUUID(), TOPICS.get(number % TOPICS.size()), eventId, payload(fails));
        users.enqueue(txContext, "public.org_outbox", message);
        if (number % DELAY_EACH == 2) {
            try (PreparedStatement delay = connection.prepareStatement(
                    "UPDATE org_outbox SET available_at = now() + ? * INTERVAL '1 ms' WHERE event_id = ?")) {
                delay.setLong(1, delay(number).toMillis());
                delay.setObject(2, eventId);
                delay.executeUpdate();
            }
        }
        return eventId.toString();
    }

    private static String payload(boolean fails) {
        return fails ? "{" + FAILING + "}" : "{}";
    }

    private Duration delay(int number) {
        return longestDelay.multipliedBy(number % 4 + 1).dividedBy(4);
    }

    /** Whether an attempt for the event fails, given the number of previous attempts. */
    static boolean fails(String payload, int attempts) {
        return attempts == 0 && payload.contains(FAILING);
    }

    private void receive(EventEnvelope event) {
        if (fails(event.payloadJson(), ledger.receive(event.eventId()))) {
            throw new IllegalStateException("not at the first time");
        }
        String order = event.aggregateId();
        if (order != null) {
            delivered
                    .computeIfAbsent(order, any -> new CopyOnWriteArrayList<>())
                    .add(Integer.valueOf(event.headers().get("change")));
        }
    }

    /** The first delivery of each number, because a replay may repeat it at any time. */
    Map<String, List<Integer>> delivered() {
        Map<String, List<Integer>> firsts = new ConcurrentHashMap<>();
        delivered.forEach((order, changes) ->
                firsts.put(order, changes.stream().distinct().toList()));
        return firsts;
    }

    String scrape() {
        return registry.scrape();
    }

    @Override
    public void close() {
        poller.close();
        purge.close();
        dispatcher.close();
        dataSource.close();
    }
}
