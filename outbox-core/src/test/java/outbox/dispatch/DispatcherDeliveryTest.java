package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxException;
import outbox.fake.CapturedLog;
import outbox.fake.MemoryEventStore;
import outbox.internal.CurrentEvent;
import outbox.model.EventStatus;

import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;
import static outbox.fake.Eventually.eventually;

class DispatcherDeliveryTest {

    private final List<String> steps = new CopyOnWriteArrayList<>();
    private DispatcherRig rig = new DispatcherRig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void a_delivered_event_is_done() {
        AtomicReference<@Nullable EventEnvelope> received = new AtomicReference<>();
        rig.on("t", received::set);
        QueuedEvent event = rig.hot("t");

        boolean accepted = rig.start(builder -> builder).enqueueHot(event);

        assertThat(accepted).isTrue();
        eventually(() -> assertStatus(event, EventStatus.DONE));
        assertThat(received.get()).isSameAs(event.envelope());
        assertThat(rig.connections.open()).isZero();
    }

    @Test
    void interceptors_run_before_in_order_and_after_in_reverse() {
        rig.on("t", event -> steps.add("listener"));
        QueuedEvent event = rig.hot("t");
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.interceptor(named("1")).interceptors(List.of(named("2"), named("3"))));

        dispatcher.enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.DONE));
        assertThat(steps)
                .containsExactly(
                        "before 1", "before 2", "before 3", "listener", "after 3 null", "after 2 null", "after 1 null");
    }

    @Test
    void the_factories_make_interceptors_of_one_side() {
        rig.on("t", event -> steps.add("listener"));
        QueuedEvent event = rig.hot("t");
        OutboxDispatcher dispatcher = rig.start(builder -> builder.interceptor(
                        EventInterceptor.before(seen -> steps.add("before " + seen.eventType())))
                .interceptor(
                        EventInterceptor.after((seen, error) -> steps.add("after " + seen.eventType() + " " + error))));

        dispatcher.enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.DONE));
        assertThat(steps).containsExactly("before t", "listener", "after t null");
    }

    @Test
    void an_interceptor_that_refuses_keeps_the_rest_from_running_and_the_attempt_fails() {
        rig.on("t", event -> steps.add("listener"));
        QueuedEvent event = rig.hot("t");
        OutboxDispatcher dispatcher = rig.start(builder -> builder.interceptor(named("1"))
                .interceptor(EventInterceptor.before(seen -> {
                    throw new IllegalStateException("not now");
                }))
                .interceptor(named("3")));

        dispatcher.enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        assertThat(steps)
                .containsExactly(
                        "before 1",
                        "after 3 java.lang.IllegalStateException: not now",
                        "after 1 java.lang.IllegalStateException: not now");
        assertThat(row(event).error()).contains("not now");
    }

    @Test
    void the_error_that_is_kept_does_not_show_the_payload() {
        EventEnvelope secret = EventEnvelope.ofJson("t", "{\"card\": \"4111 1111 1111 1111\"}");
        rig.on("t", event -> {
            throw new IllegalArgumentException("cannot read " + event.payloadJson());
        });
        QueuedEvent event = rig.hot(secret);

        rig.start(builder -> builder).enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        assertThat(row(event).error()).isEqualTo("java.lang.IllegalArgumentException: cannot read [payload]");
    }

    @Test
    void what_an_interceptor_throws_afterwards_changes_nothing() {
        rig.on("t", event -> steps.add("listener"));
        QueuedEvent event = rig.hot("t");
        OutboxDispatcher dispatcher = rig.start(builder -> builder.interceptor(named("1"))
                .interceptor(EventInterceptor.after((seen, error) -> {
                    throw new StackOverflowError();
                }))
                .interceptor(EventInterceptor.after((seen, error) -> {
                    throw new IllegalStateException();
                })));

        try (CapturedLog log = CapturedLog.of(DeliveryChain.class)) {
            dispatcher.enqueueHot(event);

            eventually(() -> assertStatus(event, EventStatus.DONE));
            assertThat(log.messages(Level.WARNING)).hasSize(2);
        }
        assertThat(steps).containsExactly("before 1", "listener", "after 1 null");
    }

    @Test
    void an_event_without_listener_is_dead_at_once() {
        List<@Nullable Exception> errors = new ArrayList<>();
        QueuedEvent event = rig.hot("nobody");
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.interceptor(EventInterceptor.after((seen, error) -> errors.add(error))));

        try (CapturedLog log = CapturedLog.of(Endings.class)) {
            dispatcher.enqueueHot(event);

            eventually(() -> assertThat(log.messages(Level.SEVERE)).hasSize(1));
            assertThat(log.messages(Level.SEVERE))
                    .first()
                    .asString()
                    .contains(event.envelope().eventId(), "is dead");
        }
        assertStatus(event, EventStatus.DEAD);
        assertThat(row(event).attempts()).isZero();
        assertThat(row(event).error()).contains("UnroutableEventException", "__GLOBAL__:nobody");
        assertThat(errors)
                .singleElement()
                .isInstanceOfSatisfying(
                        UnroutableEventException.class,
                        error -> assertThat(error.eventId())
                                .isEqualTo(event.envelope().eventId()));
    }

    @Test
    void a_failure_is_retried_after_the_delay_of_the_policy_for_the_attempt() {
        rig.on("t", event -> {
            throw new IllegalStateException("broken");
        });
        EventEnvelope event = rig.store.given("t");
        List<Integer> asked = new CopyOnWriteArrayList<>();
        OutboxDispatcher dispatcher = rig.start(builder -> builder.retryPolicy(attempts -> {
            asked.add(attempts);
            return 60_000;
        }));
        Instant before = Instant.now();

        dispatcher.enqueueCold(DispatcherRig.cold(event, 4));

        eventually(() -> assertThat(rig.store.status(event.eventId())).isEqualTo(EventStatus.RETRY));
        MemoryEventStore.Row row = rig.store.row(event.eventId());
        assertThat(asked).containsExactly(5);
        assertThat(row.attempts()).isEqualTo(1);
        assertThat(row.error()).isEqualTo("java.lang.IllegalStateException: broken");
        assertThat(row.availableAt())
                .isBetween(before.plusSeconds(60).minusMillis(1), Instant.now().plusSeconds(60));
    }

    @Test
    void the_last_attempt_that_fails_is_the_end() {
        rig.on("t", event -> {
            throw new IllegalStateException("broken");
        });
        EventEnvelope event = rig.store.given("t");
        OutboxDispatcher dispatcher = rig.start(builder -> builder.maxAttempts(3));

        for (int attempts = 0; attempts < 3; attempts++) {
            int before = attempts;
            eventually(() -> assertThat(dispatcher.enqueueCold(DispatcherRig.cold(event, before)))
                    .isTrue());
            eventually(() -> assertThat(rig.store.calls()).hasSize(before + 1));
            eventually(() -> assertThat(
                            rig.metrics.count("incrementDispatchFailure") + rig.metrics.count("incrementDispatchDead"))
                    .isEqualTo(before + 1));
        }

        String id = event.eventId();
        assertThat(rig.store.calls()).containsExactly("markRetry " + id, "markRetry " + id, "markDead " + id);
        assertThat(rig.store.row(id).error()).contains("broken");
    }

    @Test
    void with_a_single_attempt_the_first_failure_is_the_end() {
        rig.on("t", event -> {
            throw new Exception("broken");
        });
        QueuedEvent event = rig.hot("t");

        rig.start(builder -> builder.maxAttempts(1)).enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.DEAD));
        assertThat(rig.store.calls())
                .containsExactly("markDead " + event.envelope().eventId());
    }

    @Test
    void a_retry_policy_that_throws_or_answers_nonsense_does_not_lose_the_event() {
        rig.on("t", event -> {
            throw new IllegalStateException("broken");
        });
        QueuedEvent thrown = rig.hot("t");
        QueuedEvent negative = rig.hot("t");
        QueuedEvent endless = rig.hot("t");
        List<Long> delays = new CopyOnWriteArrayList<>(List.of(-5L, Long.MAX_VALUE));
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).retryPolicy(attempts -> {
                    if (delays.size() == 2 && steps.isEmpty()) {
                        steps.add("threw");
                        throw new IllegalStateException("no delay for you");
                    }
                    return delays.remove(0);
                }));

        try (CapturedLog log = CapturedLog.of(OutcomePolicy.class)) {
            dispatcher.enqueueHot(thrown);
            dispatcher.enqueueHot(negative);
            dispatcher.enqueueHot(endless);

            eventually(() -> assertStatus(endless, EventStatus.RETRY));
            assertThat(log.messages(Level.SEVERE)).hasSize(1);
        }
        assertThat(row(thrown).availableAt())
                .isBetween(Instant.now(), Instant.now().plusSeconds(61));
        assertThat(row(negative).availableAt()).isBefore(Instant.now().plusSeconds(1));
        assertThat(row(endless).availableAt()).isBefore(Instant.now().plus(Duration.ofDays(366)));
    }

    // ---- hostile listeners ----

    static Stream<Arguments> errors() {
        return Stream.of(
                arguments((EventListener) event -> recurse(0), "java.lang.StackOverflowError"),
                arguments(
                        (EventListener)
                                event -> assertThat(new long[Integer.MAX_VALUE]).isNull(),
                        "java.lang.OutOfMemoryError"),
                arguments(
                        (EventListener) event -> {
                            throw new NoClassDefFoundError("gone/Class");
                        },
                        "java.lang.NoClassDefFoundError: gone/Class"));
    }

    @ParameterizedTest
    @MethodSource("errors")
    void an_error_is_a_failed_attempt_and_the_worker_lives_on(EventListener listener, String text) {
        List<@Nullable Exception> errors = new CopyOnWriteArrayList<>();
        rig.on("bad", listener).on("good", event -> {});
        QueuedEvent bad = rig.hot("bad");
        QueuedEvent good = rig.hot("good");
        OutboxDispatcher dispatcher = rig.start(builder ->
                builder.workerCount(1).interceptor(EventInterceptor.after((seen, error) -> errors.add(error))));

        dispatcher.enqueueHot(bad);
        dispatcher.enqueueHot(good);

        eventually(() -> assertStatus(good, EventStatus.DONE));
        eventually(() -> assertStatus(bad, EventStatus.RETRY));
        assertThat(row(bad).error()).startsWith(text);
        assertThat(row(bad).attempts()).isEqualTo(1);
        assertThat(errors.get(0)).isInstanceOf(ListenerErrorException.class).hasCauseInstanceOf(Error.class);
    }

    @Test
    void a_listener_that_leaves_its_interrupt_flag_set_kills_no_worker() {
        int workers = 2;
        rig.on("rude", event -> Thread.currentThread().interrupt())
                .on("rude-and-broken", event -> {
                    Thread.currentThread().interrupt();
                    throw new InterruptedException();
                })
                .on(
                        "good",
                        event -> assertThat(Thread.currentThread().isInterrupted())
                                .isFalse());
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(workers));
        List<QueuedEvent> rude = new ArrayList<>();

        for (int i = 0; i < workers + 1; i++) {
            rude.add(rig.hot("rude"));
            rude.add(rig.hot("rude-and-broken"));
        }
        List<QueuedEvent> good =
                Stream.generate(() -> rig.hot("good")).limit(20).toList();
        rude.forEach(dispatcher::enqueueHot);
        good.forEach(dispatcher::enqueueHot);

        eventually(() -> assertThat(good).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
        eventually(() -> assertThat(rude)
                .allSatisfy(event -> assertStatus(
                        event, event.envelope().eventType().equals("rude") ? EventStatus.DONE : EventStatus.RETRY)));
    }

    @Test
    void an_exception_whose_message_throws_is_a_failed_attempt() {
        rig.on("t", event -> {
            throw new HostileException();
        });
        QueuedEvent event = rig.hot("t");

        rig.start(builder -> builder).enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        assertThat(row(event).error()).contains("HostileException", "cannot be read");
    }

    @Test
    void what_a_listener_leaves_on_its_thread_does_not_reach_the_next_event() throws Exception {
        List<@Nullable Object> seen = new CopyOnWriteArrayList<>();
        try (URLClassLoader foreign = new URLClassLoader(new URL[0])) {
            rig.on("leaves", event -> Thread.currentThread().setContextClassLoader(foreign))
                    .on("looks", event -> {
                        seen.add(Thread.currentThread().getContextClassLoader());
                        seen.add(Objects.requireNonNull(CurrentEvent.get()).eventType());
                    });
            QueuedEvent last = rig.hot("looks");
            OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));

            dispatcher.enqueueHot(rig.hot("leaves"));
            dispatcher.enqueueHot(last);

            eventually(() -> assertStatus(last, EventStatus.DONE));
            assertThat(seen).containsExactly(Thread.currentThread().getContextClassLoader(), "looks");
        }
    }

    // ---- one run at a time ----

    @Test
    void an_event_offered_again_while_it_waits_or_runs_is_delivered_once() throws InterruptedException {
        CountDownLatch gate = rig.gate();
        rig.on("t", event -> {
            steps.add("run");
            gate.await();
        });
        QueuedEvent event = rig.hot("t");
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(2));

        dispatcher.enqueueHot(event);
        eventually(() -> assertThat(steps).hasSize(1));
        boolean again = dispatcher.enqueueCold(DispatcherRig.cold(event.envelope(), 0));
        CountDownLatch other = rig.occupyWorker(dispatcher);
        QueuedEvent waiting = rig.hot("t");
        dispatcher.enqueueHot(waiting);
        dispatcher.enqueueCold(DispatcherRig.cold(waiting.envelope(), 0));
        gate.countDown();
        other.countDown();

        eventually(() -> assertStatus(waiting, EventStatus.DONE));
        assertThat(again).isTrue();
        assertThat(steps).hasSize(2);
    }

    @Test
    void an_event_that_the_tracker_knows_as_in_flight_is_dropped() {
        rig.on("t", event -> steps.add(event.eventId()));
        DefaultInFlightTracker tracker = new DefaultInFlightTracker();
        QueuedEvent busy = rig.hot("t");
        QueuedEvent free = rig.hot("t");
        tracker.tryAcquire(busy.envelope().eventId());
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).inFlightTracker(tracker));

        dispatcher.enqueueHot(busy);
        dispatcher.enqueueHot(free);

        eventually(() -> assertStatus(free, EventStatus.DONE));
        assertThat(steps).containsExactly(free.envelope().eventId());
        assertThat(tracker.tryAcquire(free.envelope().eventId())).isTrue();
        tracker.release(busy.envelope().eventId());
        dispatcher.enqueueHot(busy);
        eventually(() -> assertStatus(busy, EventStatus.DONE));
    }

    @Test
    void a_tracker_that_throws_loses_no_event() {
        rig.on("t", event -> steps.add("run"));
        AtomicInteger calls = new AtomicInteger();
        InFlightTracker broken = new InFlightTracker() {
            @Override
            public boolean tryAcquire(String eventId) {
                if (calls.incrementAndGet() == 1) {
                    throw new IllegalStateException("tracker is away");
                }
                return true;
            }

            @Override
            public void release(String eventId) {
                throw new IllegalStateException("tracker is away");
            }
        };
        QueuedEvent event = rig.hot("t");
        QueuedEvent next = rig.hot("t");
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).inFlightTracker(broken));

        dispatcher.enqueueHot(event);
        dispatcher.enqueueHot(next);

        eventually(() -> assertStatus(next, EventStatus.DONE));
        eventually(() -> {
            // as a poller does repeatedly
            dispatcher.enqueueCold(DispatcherRig.cold(event.envelope(), 0));
            assertStatus(event, EventStatus.DONE);
        });
        assertThat(rig.metrics.count("incrementMarkFailures")).isZero();
    }

    // ---- outcomes that are difficult to write ----

    @Test
    void an_outcome_that_cannot_be_written_is_written_later_and_costs_no_attempt() {
        rig.on("t", event -> steps.add("run"));
        AtomicInteger failures = new AtomicInteger();
        rig.store.beforeEachCall(call -> {
            if (failures.incrementAndGet() <= 2) {
                throw new OutboxException("away", new SQLException("away", "08006"));
            }
        });
        QueuedEvent event = rig.hot("t");

        rig.start(builder -> builder).enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.DONE));
        assertThat(steps).hasSize(1);
        assertThat(rig.metrics.count("incrementMarkFailures")).isEqualTo(2);
        eventually(
                () -> assertThat(rig.metrics.count("incrementDispatchSuccess")).isEqualTo(1));
    }

    @Test
    void the_status_tells_since_when_outcomes_cannot_be_written_and_why_and_why_an_attempt_failed() {
        rig.on("t", event -> {
            throw new IllegalStateException("no such customer");
        });
        AtomicBoolean away = new AtomicBoolean(true);
        rig.store.beforeEachCall(call -> {
            if (away.get()) {
                throw new OutboxException("away", new SQLException("The disk is full\nDetail: a row", "53100"));
            }
        });
        OutboxDispatcher dispatcher = rig.start(builder -> builder);
        assertThat(dispatcher.status().marksFailingFor()).isNull();
        assertThat(dispatcher.status().lastError()).isNull();

        dispatcher.enqueueHot(rig.hot("t"));

        eventually(() -> assertThat(dispatcher.status().marksFailingFor()).isPositive());
        Duration first = dispatcher.status().marksFailingFor();
        eventually(() -> assertThat(rig.metrics.count("incrementMarkFailures")).isGreaterThan(1));
        assertThat(dispatcher.status().marksFailingFor()).isGreaterThan(first);
        assertThat(dispatcher.status().lastError()).endsWith("The disk is full");

        away.set(false);

        eventually(() -> assertThat(dispatcher.status().marksFailingFor()).isNull());
        assertThat(dispatcher.status().lastError()).contains("no such customer");
    }

    @Test
    void an_error_text_that_the_database_refuses_is_replaced() {
        rig.close();
        rig = new DispatcherRig(new MemoryEventStore() {
            @Override
            public synchronized int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
                if (error.contains("unstorable")) {
                    throw new OutboxException("refused", new SQLException("invalid byte sequence", "22021"));
                }
                return super.markRetry(conn, eventId, nextAt, error);
            }
        });
        rig.on("t", event -> {
            throw new IllegalStateException("unstorable");
        });
        QueuedEvent event = rig.hot("t");

        rig.start(builder -> builder).enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        assertThat(row(event).error()).contains("could not be stored");
        assertThat(row(event).attempts()).isEqualTo(1);
    }

    @Test
    void an_event_that_someone_else_finished_counts_as_a_lost_claim() {
        rig.on("t", event -> rig.store.markDone(rig.connections.connection(false, false), event.eventId()));
        QueuedEvent event = rig.hot("t");

        rig.start(builder -> builder).enqueueHot(event);

        eventually(() -> assertThat(rig.metrics.count("incrementLostClaims")).isEqualTo(1));
        assertThat(rig.metrics.count("incrementDispatchSuccess")).isZero();
    }

    private EventInterceptor named(String name) {
        return new EventInterceptor() {
            @Override
            public void beforeDispatch(EventEnvelope event) {
                steps.add("before " + name);
            }

            @Override
            public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
                steps.add("after " + name + " " + error);
            }
        };
    }

    private static int recurse(int depth) {
        return depth < 0 ? 0 : recurse(depth + 1) + 1;
    }

    private void assertStatus(QueuedEvent event, EventStatus status) {
        assertThat(rig.store.status(event.envelope().eventId())).isEqualTo(status);
    }

    private MemoryEventStore.Row row(QueuedEvent event) {
        return rig.store.row(event.envelope().eventId());
    }

    private static final class HostileException extends Exception {

        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new IllegalStateException("no message for you");
        }
    }
}
