package outbox.benchmarks;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;
import outbox.rabbitmq.MessageFormat;
import outbox.rabbitmq.RabbitConsumer;
import outbox.rabbitmq.RabbitMessage;
import outbox.rabbitmq.RabbitQueue;
import outbox.rabbitmq.RabbitTopology;
import outbox.rabbitmq.RabbitTransport;
import outbox.testing.server.RabbitServer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Events per second to RabbitMQ, persistent and confirmed, into a durable queue. Compares a publisher that waits for
 * each confirm, a publisher that is pipelined by hand, the transport alone, and the outbox with a consumer that has
 * an inbox. They take turns. The result is the median, and the ratios are those of one run on one machine.
 */
public final class ToRabbit {

    private static final int WINDOW = 512; // messages in flight; not used by the plain publisher
    private static final int ROUNDS = 3;
    private static final Duration LIMIT = Duration.ofMinutes(5);
    private static final String EXCHANGE = "bench";
    private static final String QUEUE = "bench.queue";
    private static final String PAYLOAD = "{\"text\":\"" + "x".repeat(180) + "\"}";

    private final ConnectionFactory factory;
    private final HikariDataSource pool;
    private final int events;

    private ToRabbit(ConnectionFactory factory, HikariDataSource pool, int events) {
        this.factory = factory;
        this.pool = pool;
        this.events = events;
    }

    private interface Way {
        /** Returns the events per second. */
        double run(int count) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT); // the same number format on all machines
        int events = arguments.length == 0 ? 20_000 : Integer.parseInt(arguments[0]);
        try (RabbitServer rabbit = RabbitServer.start();
                BenchServer server = BenchServer.start(Product.POSTGRESQL)) {
            ConnectionFactory factory = new ConnectionFactory();
            factory.setUri(rabbit.uri());
            declare(factory);
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(server.url(server.createDatabase()));
            try (HikariDataSource pool = new HikariDataSource(config)) {
                new ToRabbit(factory, pool, events).measure();
            }
        }
        System.exit(0);
    }

    private static void declare(ConnectionFactory factory) throws Exception {
        try (Connection connection = factory.newConnection()) {
            RabbitTopology.builder()
                    .topicExchange(EXCHANGE)
                    .queue(RabbitQueue.named(QUEUE).deadLetterTo(EXCHANGE, "dead"))
                    .queue(RabbitQueue.named("bench.dead"))
                    .bind(QUEUE, EXCHANGE, "placed")
                    .bind("bench.dead", EXCHANGE, "dead")
                    .build()
                    .declare(connection);
        }
    }

    private void measure() throws Exception {
        AbstractJdbcEventStore store = JdbcEventStores.detect(pool);
        OutboxSchema.create(pool, store);
        Map<String, Way> ways = new LinkedHashMap<>();
        // slow, so a tenth of the messages is enough
        ways.put("confirm per message", count -> plain(Math.max(1, count / 10)));
        ways.put("raw, pipelined", this::pipelined);
        ways.put("transport", this::transport);
        ways.put("outbox to consumer with inbox", count -> throughOutbox(store, count));
        Map<String, double[]> perSecond = new LinkedHashMap<>();
        for (int round = 0; round <= ROUNDS; round++) { // the first round warms up the compiler
            for (Map.Entry<String, Way> way : ways.entrySet()) {
                double measured = way.getValue().run(round == 0 ? Math.max(1, events / 4) : events);
                purgeQueue();
                if (round > 0) {
                    perSecond.computeIfAbsent(way.getKey(), none -> new double[ROUNDS])[round - 1] = measured;
                    System.out.printf("round %d, %s: %,.0f events/s%n", round, way.getKey(), measured);
                }
            }
        }
        print(perSecond);
    }

    private void print(Map<String, double[]> perSecond) {
        double plain = median(Objects.requireNonNull(perSecond.get("confirm per message")));
        double raw = median(Objects.requireNonNull(perSecond.get("raw, pipelined")));
        System.out.printf(
                "%n%,d events of %d bytes, %d in flight, median of %d rounds%n",
                events, PAYLOAD.length(), WINDOW, ROUNDS);
        System.out.println("| | events/s | to raw, pipelined | to confirm per message |");
        System.out.println("|---|---:|---:|---:|");
        perSecond.forEach((way, measured) -> System.out.printf(
                "| %s | %,.0f | %.2f | %.1f |%n",
                way, median(measured), median(measured) / raw, median(measured) / plain));
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private void purgeQueue() throws Exception {
        try (Connection connection = factory.newConnection();
                Channel channel = connection.createChannel()) {
            channel.queuePurge(QUEUE);
        }
    }

    private static EventEnvelope event(int number) {
        return EventEnvelope.builder("placed")
                .aggregateType("Order")
                .aggregateId(Integer.toString(number))
                .payloadJson(PAYLOAD)
                .build();
    }

    /** Creates the messages in advance, for the publishers whose measurement excludes this step. */
    private static List<RabbitMessage> messages(int count) {
        List<RabbitMessage> messages = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            messages.add(MessageFormat.CONTRACT.messageOf(event(i)));
        }
        return messages;
    }

    private double plain(int count) throws Exception {
        List<RabbitMessage> messages = messages(count);
        try (Connection connection = factory.newConnection();
                Channel channel = connection.createChannel()) {
            channel.confirmSelect();
            long begin = System.nanoTime();
            for (RabbitMessage message : messages) {
                publish(channel, message.properties(), message.body());
                channel.waitForConfirmsOrDie(LIMIT.toMillis());
            }
            return rate(count, begin);
        }
    }

    private double pipelined(int count) throws Exception {
        List<RabbitMessage> messages = messages(count);
        try (Connection connection = factory.newConnection();
                Channel channel = connection.createChannel()) {
            channel.confirmSelect();
            Semaphore window = new Semaphore(WINDOW);
            ConcurrentSkipListSet<Long> pending = new ConcurrentSkipListSet<>();
            channel.addConfirmListener(
                    (tag, multiple) -> {
                        if (!multiple) {
                            pending.remove(tag);
                            window.release();
                            return;
                        }
                        for (Long first = pending.pollFirst(); first != null; first = pending.pollFirst()) {
                            if (first > tag) {
                                pending.add(first);
                                return;
                            }
                            window.release();
                        }
                    },
                    (tag, multiple) -> {
                        throw new IllegalStateException("nacked");
                    });
            long begin = System.nanoTime();
            for (RabbitMessage message : messages) {
                take(window, 1);
                pending.add(channel.getNextPublishSeqNo());
                publish(channel, message.properties(), message.body());
            }
            channel.waitForConfirmsOrDie(LIMIT.toMillis());
            return rate(count, begin);
        }
    }

    private static void publish(Channel channel, BasicProperties properties, byte[] body) throws Exception {
        channel.basicPublish(EXCHANGE, "placed", true, properties, body);
    }

    private double transport(int count) throws Exception {
        try (RabbitTransport transport = newTransport()) {
            Semaphore window = new Semaphore(WINDOW);
            AtomicInteger failures = new AtomicInteger();
            long begin = System.nanoTime();
            for (int i = 0; i < count; i++) {
                take(window, 1);
                transport.onEventAsync(event(i)).whenComplete((delivered, failure) -> {
                    if (failure != null) {
                        failures.incrementAndGet();
                    }
                    window.release();
                });
            }
            take(window, WINDOW);
            if (failures.get() > 0) {
                throw new IllegalStateException(failures + " events failed");
            }
            return rate(count, begin);
        }
    }

    private RabbitTransport newTransport() {
        return RabbitTransport.builder()
                .connectionFactory(factory)
                .exchange(EXCHANGE)
                .maxInFlight(WINDOW)
                .build();
    }

    /** Measures from a full table to the last effect: claim, publish, mark, consume and write the inbox mark. */
    private double throughOutbox(AbstractJdbcEventStore store, int count) throws Exception {
        DataSourceConnectionProvider connections = new DataSourceConnectionProvider(pool);
        write(connections, store, count);
        JdbcInbox inbox = JdbcInbox.builder().connectionProvider(connections).build();
        OutboxSchema.createInbox(pool, inbox);
        CountDownLatch handled = new CountDownLatch(count);
        try (RabbitTransport transport = newTransport();
                OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(connections)
                        .eventStore(store)
                        .listenerRegistry((aggregateType, eventType) -> transport)
                        .build();
                OutboxPoller poller = OutboxPoller.builder()
                        .connectionProvider(connections)
                        .eventStore(store)
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .build();
                RabbitConsumer consumer = RabbitConsumer.builder()
                        .connectionFactory(factory)
                        .queue(QUEUE)
                        .consumer("bench")
                        .inbox(inbox)
                        .deadLetter(EXCHANGE, "dead")
                        .prefetch(200)
                        .concurrency(4)
                        .handler((message, connection) -> handled.countDown())
                        .build()) {
            consumer.start();
            long begin = System.nanoTime();
            poller.start();
            if (!handled.await(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                throw new TimeoutException(handled.getCount() + " events did not arrive within " + LIMIT);
            }
            return rate(count, begin);
        }
    }

    private static void write(DataSourceConnectionProvider connections, AbstractJdbcEventStore store, int count) {
        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        OutboxWriter writer = new OutboxWriter(txContext, store);
        JdbcTransactionManager transactions = new JdbcTransactionManager(connections, txContext);
        for (int from = 0; from < count; from += 500) {
            List<EventEnvelope> batch = new ArrayList<>();
            for (int i = from; i < Math.min(count, from + 500); i++) {
                batch.add(event(i));
            }
            try (Transaction tx = transactions.begin()) {
                writer.writeAll(batch);
                tx.commit();
            }
        }
    }

    private static void take(Semaphore window, int places) throws Exception {
        if (!window.tryAcquire(places, LIMIT.toSeconds(), TimeUnit.SECONDS)) {
            throw new TimeoutException("The broker did not confirm within " + LIMIT);
        }
    }

    private static double rate(int count, long beginNanos) {
        return count * 1e9 / (System.nanoTime() - beginNanos);
    }
}
