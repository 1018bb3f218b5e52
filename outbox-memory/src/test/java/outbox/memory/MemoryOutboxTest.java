package outbox.memory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxException;
import outbox.OutboxWriter;
import outbox.OutboxWriter.Change;
import outbox.TransactionStateException;
import outbox.admin.EventAdministration;
import outbox.admin.EventFilter;
import outbox.admin.EventSummary;
import outbox.model.EventStatus;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryOutboxTest {

    @Test
    void a_write_outside_a_transaction_is_one_of_its_own_and_inside_it_belongs_to_that() {
        try (MemoryOutbox outbox = MemoryOutbox.builder(listeners).build()) {
            outbox.start();

            outbox.write(EventEnvelope.ofJson("T", "1"));
            outbox.writeAll(List.of(EventEnvelope.ofJson("T", "2"), EventEnvelope.ofJson("T", "3")));
            assertThatThrownBy(() -> outbox.transactions().run(() -> {
                        outbox.write(EventEnvelope.ofJson("T", "undone"));
                        throw new IllegalStateException("no");
                    }))
                    .hasMessage("no");
            outbox.transactions().run(() -> outbox.write(EventEnvelope.ofJson("T", "4")));

            await().atMost(SOON).until(() -> delivered.size() >= 4);
            assertThat(delivered).containsExactlyInAnyOrder("1", "2", "3", "4");
        }
    }

    private static final Duration SOON = Duration.ofSeconds(20);

    private final List<String> delivered = new CopyOnWriteArrayList<>();
    private final DefaultListenerRegistry listeners =
            new DefaultListenerRegistry().register("T", event -> delivered.add(event.payloadJson()));

    @Test
    void what_was_committed_is_delivered_and_forgotten_and_what_was_rolled_back_is_not() {
        try (MemoryOutbox outbox = MemoryOutbox.builder(listeners).build()) {
            outbox.start();
            assertThatThrownBy(() -> outbox.transactions().run(() -> {
                        outbox.writer().write("T", "rolled back");
                        throw new IllegalStateException("no");
                    }))
                    .hasMessage("no");
            assertThatThrownBy(() -> outbox.writer().write("T", "outside"))
                    .isInstanceOf(TransactionStateException.class);
            String answer = outbox.transactions().call(() -> {
                outbox.writer().write("T", "first");
                outbox.transactions().run(() -> outbox.writer().write("T", "inner"));
                outbox.writer().gathering().write("T", "gathered");
                return "done";
            });

            assertThat(answer).isEqualTo("done");
            await().atMost(SOON).until(() -> outbox.store().pending() == 0);
            assertThat(delivered).containsExactlyInAnyOrder("first", "inner", "gathered");
            assertThat(rows(outbox)).isZero();
        }
    }

    private static long rows(MemoryOutbox outbox) {
        try (var connection = outbox.store().connections().getConnection()) {
            return EventAdministration.of(outbox.store()).count(connection, EventFilter.all());
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void events_are_taken_by_priority_then_by_due_time() throws SQLException {
        MemoryEventStore store = MemoryEventStore.builder().build();
        MemoryTransactions tx = new MemoryTransactions(store);
        OutboxWriter writer = new OutboxWriter(tx, store);
        Instant now = Instant.now();
        tx.run(() -> {
            for (int i = 0; i < 6; i++) {
                writer.write(EventEnvelope.builder("T")
                        .eventId("event-" + i)
                        .priority(i % 2)
                        .availableAt(now.plusSeconds(60 - i))
                        .payloadJson("{}")
                        .build());
            }
        });

        try (Connection connection = store.connections().getConnection()) {
            Instant later = now.plusSeconds(100);
            assertThat(store.claim(connection, new Claim("c", 0), ClaimRequest.of(later, now, 5)))
                    .extracting(claimed -> claimed.event().eventId())
                    .containsExactly("event-5", "event-3", "event-1", "event-4", "event-2");
        }
    }

    @ParameterizedTest
    @CsvSource({"5, 1 5 30 120", "7, 1 5 30 120 600 600"})
    void a_failed_event_is_due_again_as_the_default_series_says(int maxAttempts, String seconds) throws Exception {
        List<Instant> failures = new CopyOnWriteArrayList<>();
        DefaultListenerRegistry failing = new DefaultListenerRegistry().register("T", event -> {
            failures.add(Instant.now());
            throw new IllegalStateException("always");
        });
        MemoryOutbox.Builder builder = MemoryOutbox.builder(failing);
        try (MemoryOutbox outbox = (maxAttempts == 5 ? builder : builder.maxAttempts(maxAttempts)).build();
                Connection connection = outbox.store().connections().getConnection()) {
            outbox.start();
            String id = outbox.transactions().call(() -> outbox.writer().write("T", "{}"));

            int attempt = 0;
            for (String wait : seconds.split(" ", -1)) {
                attempt++;
                EventSummary failed = awaitAttempts(outbox, connection, id, attempt);
                assertThat(Duration.between(failures.get(attempt - 1), failed.availableAt()))
                        .isBetween(
                                Duration.ofSeconds(Long.parseLong(wait)).minusMillis(10),
                                Duration.ofSeconds(Long.parseLong(wait)).plusSeconds(3));
                assertThat(outbox.transactions()
                                .call(() -> outbox.writer().reschedule(EventRef.id(id), Duration.ofMillis(1))))
                        .isEqualTo(Change.MADE); // nobody has ten minutes
            }

            assertThat(awaitAttempts(outbox, connection, id, maxAttempts).status())
                    .contains(EventStatus.DEAD);
        }
    }

    private static EventSummary awaitAttempts(MemoryOutbox outbox, Connection connection, String id, int attempts) {
        return await().atMost(SOON)
                .until(
                        () -> EventAdministration.of(outbox.store())
                                .find(connection, id)
                                .orElseThrow()
                                .summary(),
                        event -> event.attempts() == attempts);
    }

    @Test
    void what_a_transaction_throws_says_whether_it_is_over_and_an_interrupt_stays() {
        MemoryTransactions tx =
                new MemoryTransactions(MemoryEventStore.builder().build());

        assertThatThrownBy(() -> tx.call(() -> {
                    throw new SQLException("no");
                }))
                .isInstanceOf(OutboxException.class)
                .hasMessage("The transaction was rolled back: java.sql.SQLException: no");
        tx.run(() -> assertThatThrownBy(() -> tx.call(() -> {
                    throw new SQLException("no");
                }))
                .hasMessageContaining("a transaction that goes on failed: java.sql.SQLException: no"));
        assertThatThrownBy(() -> tx.call(() -> {
                    throw new InterruptedException();
                }))
                .hasCauseInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void an_event_that_fails_waits_as_the_series_says_and_dies_after_its_attempts() {
        List<Long> starts = new CopyOnWriteArrayList<>();
        DefaultListenerRegistry failing = new DefaultListenerRegistry().register("T", event -> {
            starts.add(System.nanoTime());
            throw new IllegalStateException("always");
        });
        try (MemoryOutbox outbox = MemoryOutbox.builder(failing)
                .backoff(List.of(Duration.ofMillis(50), Duration.ofMillis(200)))
                .maxAttempts(4)
                .build()) {
            outbox.start();
            String id = outbox.transactions().call(() -> outbox.writer().write("T", "{}"));
            await().atMost(SOON).until(() -> outbox.store().pending() == 0);

            assertThat(starts).hasSize(4);
            for (int i = 0; i < 3; i++) {
                assertThat(Duration.ofNanos(starts.get(i + 1) - starts.get(i)))
                        .isGreaterThanOrEqualTo(Duration.ofMillis(i == 0 ? 49 : 199));
            }
            try (var connection = outbox.store().connections().getConnection()) {
                var dead = EventAdministration.of(outbox.store())
                        .find(connection, id)
                        .orElseThrow();
                assertThat(dead.summary().status()).contains(EventStatus.DEAD);
                assertThat(dead.lastError()).contains("always");
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @Test
    void a_delayed_event_comes_at_its_time_although_the_interval_is_long() {
        try (MemoryOutbox outbox =
                MemoryOutbox.builder(listeners).interval(Duration.ofHours(1)).build()) {
            outbox.start();
            long start = System.nanoTime();
            outbox.transactions()
                    .run(() -> outbox.writer()
                            .write(EventEnvelope.builder("T")
                                    .deliverAfter(Duration.ofMillis(300))
                                    .payloadJson("later")
                                    .build()));

            await().atMost(SOON).until(() -> delivered.contains("later"));
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(299));
        }
    }

    @Test
    void one_that_is_not_enabled_delivers_nothing_and_refuses_nothing() {
        try (MemoryOutbox outbox =
                MemoryOutbox.builder(listeners).enabled(false).maxEvents(2).build()) {
            outbox.start();
            outbox.transactions().run(() -> {
                for (int i = 0; i < 5; i++) {
                    outbox.writer().write("T", "{}");
                }
            });

            assertThat(outbox.store().pending()).isEqualTo(2);
            assertThat(delivered).isEmpty();
        }
    }

    @Test
    void every_committed_event_of_many_writers_is_delivered_once() throws Exception {
        Map<String, Integer> runs = new ConcurrentHashMap<>();
        DefaultListenerRegistry counting =
                new DefaultListenerRegistry().register("T", event -> runs.merge(event.eventId(), 1, Integer::sum));
        Set<String> committed = ConcurrentHashMap.newKeySet();
        ExecutorService writers = Executors.newFixedThreadPool(4);
        try (MemoryOutbox outbox =
                MemoryOutbox.builder(counting).maxEvents(100_000).build()) {
            outbox.start();
            List<Future<?>> ends = new ArrayList<>();
            for (int w = 0; w < 4; w++) {
                int writer = w;
                ends.add(writers.submit(() -> {
                    Random random = new Random(writer);
                    for (int i = 0; i < 500; i++) {
                        writeOrRollBack(outbox, random, committed);
                    }
                }));
            }
            for (Future<?> end : ends) {
                end.get(40, TimeUnit.SECONDS);
            }
            await().atMost(SOON).until(() -> outbox.store().pending() == 0);
        } finally {
            writers.shutdownNow();
        }
        assertThat(runs.keySet()).isEqualTo(committed);
        assertThat(runs.values()).containsOnly(1);
    }

    private static void writeOrRollBack(MemoryOutbox outbox, Random random, Set<String> committed) {
        List<String> written = new ArrayList<>();
        boolean rollsBack = random.nextInt(4) == 0;
        try {
            outbox.transactions().run(() -> {
                for (int i = 0; i <= random.nextInt(3); i++) {
                    EventEnvelope event = EventEnvelope.builder("T")
                            .priority(random.nextInt(10))
                            .payloadJson("{}")
                            .build();
                    written.add(outbox.writer().write(event));
                }
                if (rollsBack) {
                    throw new IllegalStateException("rolled back");
                }
            });
            committed.addAll(written);
        } catch (IllegalStateException e) {
            assertThat(e).hasMessage("rolled back");
        }
    }
}
