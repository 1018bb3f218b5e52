package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.Protection;
import outbox.testing.contract.StoreFixture;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A destination is down for one hour of simulated time. The test moves the clock of the breaker. For the table, it
 * simulates time by moving the due times of the rows back.
 */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DestinationDownTest {

    private static final Duration WAIT = Duration.ofSeconds(5);
    private static final Duration TAKES = Duration.ofMillis(20); // long enough for calls to overlap if they may
    private static final int EVENTS = 300;

    private final StoreFixture db = Databases.H2.fixture();
    private final AtomicLong nanos = new AtomicLong();
    private final AtomicBoolean down = new AtomicBoolean();
    private final AtomicInteger failedCalls = new AtomicInteger();
    private final AtomicInteger inside = new AtomicInteger();
    // concurrent calls after the destination is up again
    private final List<Integer> concurrency = new CopyOnWriteArrayList<>();

    @Test
    void an_hour_costs_no_attempt_and_kills_nothing_and_after_it_the_events_flow_within_seconds() {
        CircuitBreaker breaker = CircuitBreaker.named("crm")
                .minimumCalls(5)
                .wait(WAIT)
                .openOn(IOException.class) // the first such failure opens the breaker, so no attempt is counted
                .clock(nanos::get)
                .build();
        try (Node node = new Node(
                db.dataSource(),
                db.store(),
                dispatcher -> dispatcher
                        .workerCount(8)
                        .maxAttempts(3)
                        .protection(Protection.builder()
                                .breakerForType("Crm", breaker)
                                .build()),
                poller -> poller.intervalMs(20))) {
            node.listener = this::receive;
            node.poller.start();
            down.set(true);
            for (int i = 0; i < EVENTS; i++) {
                node.write(i % 2 == 0 ? node.writer : node.coldWriter, event("Crm"));
            }
            await().until(() -> breaker.state() == CircuitBreaker.State.OPEN);

            long others = 0;
            for (Duration t = Duration.ZERO; t.compareTo(Duration.ofHours(1)) < 0; t = t.plus(WAIT)) {
                int before = failedCalls.get();
                pass(WAIT);
                await().pollInterval(Duration.ofMillis(2))
                        .until(() -> failedCalls.get() > before // a probe, by itself, and its end, which asks the clock
                                && breaker.state() == CircuitBreaker.State.OPEN);
                node.write(node.writer, event("Other"));
                others++;
            }
            long expected = others;
            await().until(() -> db.count("status = 1 AND event_type = 'Other'") == expected);

            assertThat(failedCalls.get()).as("probes").isBetween(720, 900);
            assertThat(db.count("attempts > 0")).isZero();
            assertThat(db.count("status = 3")).isZero();
            assertThat(db.count("event_type = 'Crm' AND status IN (0, 2)")).isEqualTo(EVENTS);

            down.set(false);
            // simulated seconds: the current wait, and the waits of the events that were attempted last
            for (int i = 0; i < 3; i++) {
                pass(WAIT);
                await().pollDelay(Duration.ofMillis(100)).until(() -> true);
            }
            await().atMost(Duration.ofSeconds(20)).until(() -> db.count("status = 1 AND event_type = 'Crm'") == EVENTS);
            assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.CLOSED);
            assertThat(concurrency.get(0)).isEqualTo(1);
            assertThat(concurrency.subList(1, 3)).allMatch(beside -> beside <= 2);
            assertThat(concurrency.subList(3, 7)).allMatch(beside -> beside <= 4);
            assertThat(concurrency).contains(8); // finally as many as there are workers
            assertThat(node.counts.dead).hasValue(0);
        }
    }

    private void receive(EventEnvelope event) throws Exception {
        if (!event.eventType().equals("Crm")) {
            return;
        }
        int beside = inside.incrementAndGet();
        try {
            if (down.get()) {
                failedCalls.incrementAndGet();
                throw new IOException("connection refused");
            }
            concurrency.add(beside);
            LockSupport.parkNanos(TAKES.toNanos());
        } finally {
            inside.decrementAndGet();
        }
    }

    private void pass(Duration time) {
        db.inTransaction(connection -> {
            try (var statement = connection.createStatement()) {
                statement.executeUpdate("UPDATE outbox_event SET available_at = DATEADD('SECOND', -" + time.toSeconds()
                        + ", available_at) WHERE status = 2");
            }
        });
        nanos.addAndGet(time.toNanos());
    }

    private static EventEnvelope event(String type) {
        return EventEnvelope.ofJson(type, "{}");
    }
}
