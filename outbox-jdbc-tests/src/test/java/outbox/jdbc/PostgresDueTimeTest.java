package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.FaultyDataSource;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Measures and prints the delay between due time and start of events on two nodes with default settings.
 * No event is early, and none runs twice. The nodes poll only when events are due. 99 % of the events are
 * late by no more than a limit that a busy machine meets too. For the full size with the promised limit,
 * use {@code -Doutbox.due.events=1000 -Doutbox.due.seconds=30}.
 */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PostgresDueTimeTest {

    private static final int EVENTS = Integer.getInteger("outbox.due.events", 200);
    private static final int SECONDS = Integer.getInteger("outbox.due.seconds", 6);
    private static final Duration LATEST = Duration.ofMillis(EVENTS < 1000 ? 500 : 50); // for 99 % of the events

    private final StoreFixture db = Databases.POSTGRES.fixture();
    private final FaultyDataSource counted = new FaultyDataSource(db.dataSource());
    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final Map<String, Instant> due = new ConcurrentHashMap<>();
    private final Map<String, Long> micros = new ConcurrentHashMap<>();
    private final List<String> twice = new ArrayList<>();

    @Test
    void events_start_when_they_are_due() {
        EventListener listener = event -> {
            Instant start = Instant.now(); // the server runs on this machine
            long after = Duration.between(due.get(event.eventId()), start).toNanos() / 1000;
            if (micros.put(event.eventId(), after) != null) {
                twice.add(event.eventId());
            }
        };
        try (OutboxDispatcher one = dispatcher(listener);
                OutboxPoller poller = poller(one);
                OutboxDispatcher two = dispatcher(listener);
                OutboxPoller other = poller(two)) {
            poller.start();
            other.start();
            write(new OutboxWriter(txContext, db.store(), new DispatcherCommitHook(one)));
            long before = counted.statements();

            await().atMost(Duration.ofSeconds(SECONDS + 60L)).until(() -> db.count("status = 1") == EVENTS);

            long statements = counted.statements() - before;
            print(statements);
            assertThat(twice).isEmpty();
            assertThat(micros.values()).allMatch(late -> late >= 0);
            assertThat(Duration.ofNanos(percentile(99) * 1000)).isLessThanOrEqualTo(LATEST);
            // At most one poll cycle per event and node, and one mark per event. A cycle is the two statements of
            // the claim and the query for the next due time.
            assertThat(statements).isLessThan(EVENTS * 7L + SECONDS * 20L);
        }
    }

    private void write(OutboxWriter writer) {
        JdbcTransactionManager transactions = new JdbcTransactionManager(db.dataSource()::getConnection, txContext);
        Instant start = db.now().plusSeconds(2);
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < EVENTS; i++) {
            long micro = ThreadLocalRandom.current().nextLong(SECONDS * 1_000_000L);
            EventEnvelope event = EventEnvelope.builder("T")
                    .payloadJson("{}")
                    .availableAt(start.plusNanos(micro * 1000))
                    .build();
            due.put(event.eventId(), start.plusNanos(micro * 1000));
            events.add(event);
        }
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.writeAll(events);
            tx.commit();
        }
    }

    private OutboxDispatcher dispatcher(EventListener listener) {
        return OutboxDispatcher.builder()
                .connectionProvider(counted::getConnection)
                .eventStore(db.store())
                .listenerRegistry((aggregateType, eventType) -> listener)
                .build();
    }

    private OutboxPoller poller(OutboxDispatcher dispatcher) {
        return OutboxPoller.builder()
                .connectionProvider(counted::getConnection)
                .eventStore(db.store())
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
    }

    private long percentile(int percent) {
        List<Long> sorted = micros.values().stream().sorted().toList();
        return sorted.get(Math.min(sorted.size() - 1, sorted.size() * percent / 100));
    }

    private void print(long statements) {
        System.out.printf(
                "%d events in %d s on two nodes, start minus due: p50 %d us, p99 %d us, largest %d us; %d statements, marks included%n",
                EVENTS, SECONDS, percentile(50), percentile(99), percentile(100), statements);
    }
}
