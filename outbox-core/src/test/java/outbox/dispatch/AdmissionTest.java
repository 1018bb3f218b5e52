package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.Protection.Limit;
import outbox.dispatch.QueuedEvent.Source;
import outbox.model.EventStatus;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.PollerNeeds;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.fake.Eventually.eventually;

/** Breakers and limits in a dispatcher. Events that must wait occupy no worker and do not delay others. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AdmissionTest {

    private final DispatcherRig rig = new DispatcherRig();
    private final SettableNanos clock = new SettableNanos();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void no_more_events_of_a_type_run_at_a_time_than_its_limit_and_the_others_have_the_workers() throws Exception {
        CountDownLatch gate = rig.gate();
        rig.on("slow", counting(event -> DispatcherRig.await(gate))).on("quick", event -> {});
        OutboxDispatcher dispatcher = start(4, limits -> limits.limitType("slow", Limit.concurrency(2)));
        List<QueuedEvent> slow = enqueue(dispatcher, "slow", 10);

        List<QueuedEvent> quick = enqueue(dispatcher, "quick", 100);

        eventually(() -> assertDone(quick));
        assertThat(inside).hasValue(2);
        assertThat(dispatcher.protectionStatus().limits())
                .containsExactly(new Protection.Status.Place("type slow", 2, 8, false));
        gate.countDown();
        eventually(() -> assertDone(slow));
        assertThat(most).hasValue(2);
    }

    @Test
    void an_event_that_no_breaker_or_limit_is_for_waits_for_no_look_at_others() throws Exception {
        CountDownLatch looking = new CountDownLatch(1);
        CountDownLatch gate = rig.gate();
        rig.on("limited", event -> {}).on("free", event -> {});
        OutboxDispatcher dispatcher = start(
                4,
                limits -> limits.limitType("limited", Limit.concurrency(1)).clock(() -> {
                    looking.countDown(); // called under the lock
                    DispatcherRig.passUninterruptibly(gate);
                    return 0;
                }));
        CompletableFuture<List<QueuedEvent>> limited =
                CompletableFuture.supplyAsync(() -> enqueue(dispatcher, "limited", 1));
        DispatcherRig.await(looking);

        List<QueuedEvent> free = enqueue(dispatcher, "free", 100);

        eventually(() -> assertDone(free));
        assertThat(limited).isNotDone();
        gate.countDown();
        eventually(() -> assertDone(limited.join()));
    }

    @Test
    void what_waits_for_a_limit_goes_on_in_the_order_of_its_arrival() {
        List<String> order = new ArrayList<>(); // one listener at a time adds to it
        rig.on("T", event -> order.add(event.eventId()));
        OutboxDispatcher dispatcher = start(4, limits -> limits.limitType("T", Limit.rate(1, Duration.ofSeconds(1))));
        List<QueuedEvent> events = enqueue(dispatcher, "T", 1);
        eventually(() -> assertDone(events));
        for (int i = 0; i < 9; i++) {
            events.addAll(enqueue(dispatcher, "T", 1));
            int waiting = i + 1;
            eventually(() -> assertThat(waiting(dispatcher)).isEqualTo(waiting));
        }
        for (int done = 2; done <= 10; done++) {
            clock.pass(Duration.ofSeconds(1));
            List<QueuedEvent> first = events.subList(0, done);
            eventually(() -> assertDone(first));
            assertThat(order).hasSize(done);
        }

        assertThat(order)
                .isEqualTo(
                        events.stream().map(event -> event.envelope().eventId()).toList());
    }

    @Test
    void every_kind_of_listener_is_limited() throws Exception {
        CountDownLatch gate = rig.gate();
        rig.on("batch", (BatchEventListener) events -> {
            enter(events.size());
            DispatcherRig.await(gate);
            inside.addAndGet(-events.size());
            return BatchEventListener.Outcome.allDelivered();
        });
        List<CompletableFuture<String>> stages = new ArrayList<>(); // guarded by itself
        rig.on("async", (AsyncEventListener) event -> {
            CompletableFuture<String> stage = new CompletableFuture<>();
            synchronized (stages) {
                stages.add(stage);
            }
            return stage;
        });
        OutboxDispatcher dispatcher = start(
                4,
                limits -> limits.limitListener("__GLOBAL__:batch", Limit.concurrency(3))
                        .limitListener("__GLOBAL__:async", Limit.concurrency(2)));

        List<QueuedEvent> batched = enqueue(dispatcher, "batch", 20);
        List<QueuedEvent> async = enqueue(dispatcher, "async", 5);

        eventually(() -> assertThat(inside).hasValue(3));
        eventually(() -> assertThat(waiting(dispatcher)).isEqualTo(17 + 3));
        gate.countDown();
        eventually(() -> assertDone(batched));
        assertThat(most).hasValue(3);
        for (int done = 1; done <= 5; done++) {
            int expected = Math.min(5, done + 1);
            eventually(() -> assertThat(sizeOf(stages)).isEqualTo(expected));
            synchronized (stages) {
                stages.get(done - 1).complete("ok");
            }
        }
        eventually(() -> assertDone(async));
    }

    @Test
    void each_tenant_has_a_limit_of_its_own_and_is_forgotten_when_idle() throws Exception {
        CountDownLatch gate = rig.gate();
        List<String> running = new ArrayList<>(); // guarded by itself
        rig.on("T", event -> {
            synchronized (running) {
                running.add(String.valueOf(event.tenantId()));
            }
            DispatcherRig.await(gate);
        });
        OutboxDispatcher dispatcher = start(
                8, limits -> limits.limitEachTenant(Limit.concurrency(1)).limitTenant("large", Limit.concurrency(2)));
        List<QueuedEvent> events = new ArrayList<>();
        for (String tenant : List.of("a", "a", "b", "b", "large", "large", "large")) {
            events.add(enqueue(
                    dispatcher,
                    EventEnvelope.builder("T")
                            .tenantId(tenant)
                            .payloadJson("{}")
                            .build()));
        }
        events.add(enqueue(dispatcher, EventEnvelope.ofJson("T", "{}")));

        eventually(() -> {
            synchronized (running) {
                assertThat(running).containsExactlyInAnyOrder("a", "b", "large", "large", "null");
            }
        });
        gate.countDown();
        eventually(() -> assertDone(events));
        eventually(() -> assertThat(dispatcher.protectionStatus().limits()).isEmpty());
    }

    @Test
    void what_finds_the_room_full_is_given_back_and_kept_from_being_claimed_until_half_is_free() throws Exception {
        CountDownLatch gate = rig.gate();
        rig.on("slow", event -> DispatcherRig.await(gate)).on("quick", event -> {});
        OutboxDispatcher dispatcher = start(4, limits -> limits.limitType("slow", Limit.concurrency(1)));
        AtomicInteger wakes = new AtomicInteger();
        dispatcher.needs().attached(new WakeCounter(wakes));
        List<QueuedEvent> slow = enqueue(dispatcher, "slow", 1 + Gate.ROOM + 20);

        eventually(() -> assertThat(dispatcher.needs().withheld().types()).containsExactly("slow"));
        eventually(() -> assertThat(waiting(dispatcher)).isEqualTo(Gate.ROOM));
        // it may have closed and opened again while its room filled
        int before = wakes.get();
        List<QueuedEvent> quick = enqueue(dispatcher, "quick", 100);
        eventually(() -> assertDone(quick));
        assertThat(wakes).as("nobody looks for what was given back").hasValue(before);

        gate.countDown();
        eventually(() -> assertThat(dispatcher.needs().withheld()).isEqualTo(Withheld.NOTHING));
        eventually(() -> assertThat(wakes.get()).isGreaterThan(before));
        eventually(() -> assertThat(slow)
                .filteredOn(event -> status(event) == EventStatus.DONE)
                .hasSize(1 + Gate.ROOM));
        assertThat(slow)
                .filteredOn(event -> status(event) == EventStatus.NEW)
                .hasSize(20); // the workers decide which ones
    }

    @Test
    void an_event_needs_everything_that_applies_to_it_and_holds_nothing_while_it_waits() throws Exception {
        CountDownLatch gate = rig.gate();
        rig.on("A", counting(event -> DispatcherRig.await(gate))).on("B", counting(event -> {}));
        OutboxDispatcher dispatcher =
                start(4, limits -> limits.limitType("A", Limit.concurrency(1)).limitTenant("x", Limit.concurrency(2)));
        QueuedEvent first = enqueue(dispatcher, tenantX("A"));
        eventually(() -> assertThat(inside).hasValue(1));
        QueuedEvent waits = enqueue(dispatcher, tenantX("A"));
        eventually(() -> assertThat(waiting(dispatcher)).isEqualTo(1));

        QueuedEvent other = enqueue(dispatcher, tenantX("B"));

        eventually(() -> assertThat(status(other)).isEqualTo(EventStatus.DONE));
        gate.countDown();
        eventually(() -> assertDone(List.of(first, waits)));
    }

    @Test
    void while_a_breaker_is_open_nothing_runs_and_no_worker_is_held() {
        CircuitBreaker breaker = breaker();
        AtomicInteger calls = new AtomicInteger();
        rig.on("down", event -> calls.incrementAndGet()).on("up", event -> {});
        OutboxDispatcher dispatcher = start(1, protection -> protection.breakerForListener("__GLOBAL__:down", breaker));
        breaker.open("maintenance");
        List<QueuedEvent> down = enqueue(dispatcher, "down", 10);

        List<QueuedEvent> up = enqueue(dispatcher, "up", 50);

        eventually(() -> assertDone(up));
        assertThat(calls).hasValue(0);
        assertThat(dispatcher.needs().withheld().routes()).containsExactly("__GLOBAL__:down");
        assertThat(dispatcher.protectionStatus().breakers())
                .containsExactly(new Protection.Status.Breaker("crm", CircuitBreaker.State.OPEN, "maintenance", 10));

        clock.pass(Duration.ofSeconds(5));
        eventually(() -> assertDone(down));
        eventually(() -> assertThat(dispatcher.needs().withheld()).isEqualTo(Withheld.NOTHING));
    }

    @Test
    void what_waited_for_a_breaker_goes_on_at_the_rate_of_its_tenant_which_was_idle_meanwhile() {
        CircuitBreaker breaker = breaker();
        rig.on("T", event -> {});
        OutboxDispatcher dispatcher = start(
                1,
                protection ->
                        protection.breakerForType("T", breaker).limitEachTenant(Limit.rate(1, Duration.ofSeconds(1))));
        breaker.open("down");
        List<QueuedEvent> events = List.of(
                enqueue(dispatcher, tenantX("T")),
                enqueue(dispatcher, tenantX("T")),
                enqueue(dispatcher, tenantX("T")));
        eventually(() -> assertThat(waitingAtBreaker(dispatcher)).isEqualTo(3));
        eventually(() -> assertThat(dispatcher.protectionStatus().limits()).isEmpty());

        clock.pass(Duration.ofSeconds(5));
        for (int done = 1; done <= 3; done++) {
            List<QueuedEvent> first = events.subList(0, done);
            int left = 3 - done;
            eventually(() -> assertDone(first));
            eventually(() -> assertThat(waiting(dispatcher) + waitingAtBreaker(dispatcher))
                    .isEqualTo(left));
            clock.pass(Duration.ofSeconds(1));
        }
    }

    @Test
    void what_waited_for_a_breaker_shares_the_places_of_its_tenant() throws Exception {
        CircuitBreaker breaker = breaker();
        CountDownLatch gate = rig.gate();
        rig.on("T", counting(event -> DispatcherRig.await(gate)))
                .on("other", counting(event -> DispatcherRig.await(gate)));
        OutboxDispatcher dispatcher =
                start(4, protection -> protection.breakerForType("T", breaker).limitEachTenant(Limit.concurrency(1)));
        breaker.open("down");
        QueuedEvent waits = enqueue(dispatcher, tenantX("T"));
        eventually(() -> assertThat(waitingAtBreaker(dispatcher)).isEqualTo(1));
        eventually(() -> assertThat(dispatcher.protectionStatus().limits()).isEmpty());
        QueuedEvent runs = enqueue(dispatcher, tenantX("other"));
        eventually(() -> assertThat(inside).hasValue(1));

        clock.pass(Duration.ofSeconds(5));

        eventually(() -> assertThat(waiting(dispatcher)).isEqualTo(1));
        gate.countDown();
        eventually(() -> assertDone(List.of(waits, runs)));
        assertThat(most).hasValue(1);
    }

    @Test
    void listeners_that_share_a_breaker_rest_together() {
        CircuitBreaker breaker = breaker();
        rig.on("a", event -> {
                    throw new IOException("down");
                })
                .on("b", event -> {});
        OutboxDispatcher dispatcher = start(
                1,
                protection -> protection
                        .breakerForListener("__GLOBAL__:a", breaker)
                        .breakerForListener("__GLOBAL__:b", breaker));

        enqueue(dispatcher, "a", 2);
        eventually(() -> assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.OPEN));
        List<QueuedEvent> b = enqueue(dispatcher, "b", 1);

        eventually(() -> assertThat(dispatcher.needs().withheld().routes()).contains("__GLOBAL__:a", "__GLOBAL__:b"));
        assertThat(status(b.get(0))).isEqualTo(EventStatus.NEW);
    }

    @Test
    void a_stuck_probe_is_a_failed_one_and_its_place_is_free_again() {
        CircuitBreaker breaker = breaker();
        CountDownLatch gate = rig.gate();
        rig.on("T", event -> DispatcherRig.passUninterruptibly(gate));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(2)
                .listenerTimeLimit(Duration.ofMillis(50))
                .protection(Protection.builder().breakerForType("T", breaker).build()));
        breaker.open("down");
        clock.pass(Duration.ofSeconds(5));

        enqueue(dispatcher, "T", 1);

        eventually(() -> assertThat(breaker.reason()).isEqualTo("java.util.concurrent.TimeoutException"));
        assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.OPEN);
    }

    @Test
    void a_close_gives_back_what_waits_and_does_not_wait_for_it() {
        CircuitBreaker breaker = breaker();
        rig.on("T", event -> {});
        OutboxDispatcher dispatcher = start(2, protection -> protection.breakerForType("T", breaker));
        breaker.open("down");
        List<QueuedEvent> events = enqueue(dispatcher, "T", 10);
        eventually(
                () -> assertThat(dispatcher.protectionStatus().breakers().get(0).waiting())
                        .isEqualTo(10));

        long start = System.nanoTime();
        dispatcher.close();

        // shorter than a drain
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(4));
        assertThat(events).allSatisfy(event -> assertThat(status(event)).isEqualTo(EventStatus.NEW));
    }

    @Test
    void the_state_of_everything_is_reported_to_the_metrics() {
        CircuitBreaker breaker = breaker();
        rig.on("T", event -> {});
        OutboxDispatcher dispatcher = rig.start(builder -> builder.listenerTimeLimit(Duration.ofMillis(100))
                .protection(Protection.builder()
                        .breakerForType("T", breaker)
                        .limitType("T", Limit.concurrency(3))
                        .build()));
        breaker.open("down");
        enqueue(dispatcher, "T", 1);

        eventually(() -> assertThat(rig.metrics.last("recordBreaker")).containsExactly("crm", "OPEN"));
        eventually(() -> assertThat(rig.metrics.last("recordLimit")).containsExactly("type T", 0, 0));
        eventually(() -> assertThat(rig.metrics.last("recordPauses")).containsExactly(0));
    }

    @Test
    void that_nothing_is_paused_is_reported_too() {
        rig.start(builder -> builder.listenerTimeLimit(Duration.ofMillis(100)));

        eventually(() -> assertThat(rig.metrics.last("recordPauses")).containsExactly(0));
    }

    @Test
    void a_second_limit_for_the_same_thing_is_refused() {
        Protection.Builder builder = Protection.builder().limitType("T", Limit.concurrency(1));

        assertThatThrownBy(() -> builder.limitType("T", Limit.concurrency(2)))
                .hasMessageContaining("event type T already");
        assertThatThrownBy(() -> builder.limitTenant(" ", Limit.concurrency(2))).hasMessageContaining("tenant");
    }

    private CircuitBreaker breaker() {
        return CircuitBreaker.named("crm").minimumCalls(2).clock(clock).build();
    }

    private static EventEnvelope tenantX(String type) {
        return EventEnvelope.builder(type).tenantId("x").payloadJson("{}").build();
    }

    private EventListener counting(EventListener listener) {
        return event -> {
            enter(1);
            try {
                listener.onEvent(event);
            } finally {
                inside.decrementAndGet();
            }
        };
    }

    private void enter(int count) {
        int now = inside.addAndGet(count);
        most.accumulateAndGet(now, Math::max);
    }

    private OutboxDispatcher start(int workers, UnaryOperator<Protection.Builder> settings) {
        Protection protection =
                settings.apply(Protection.builder().clock(clock)).build();
        return rig.start(builder -> builder.workerCount(workers).protection(protection));
    }

    private List<QueuedEvent> enqueue(OutboxDispatcher dispatcher, String type, int count) {
        return new ArrayList<>(IntStream.range(0, count)
                .mapToObj(i -> enqueue(dispatcher, EventEnvelope.ofJson(type, "{}")))
                .toList());
    }

    private QueuedEvent enqueue(OutboxDispatcher dispatcher, EventEnvelope event) {
        QueuedEvent queued = new QueuedEvent(rig.store.given(event), Source.HOT, 0);
        assertThat(dispatcher.enqueueHot(queued)).isTrue();
        return queued;
    }

    private void assertDone(List<QueuedEvent> events) {
        assertThat(events).allSatisfy(event -> assertThat(status(event)).isEqualTo(EventStatus.DONE));
    }

    private EventStatus status(QueuedEvent event) {
        return rig.store.status(event.envelope().eventId());
    }

    private static int sizeOf(List<?> guarded) {
        synchronized (guarded) {
            return guarded.size();
        }
    }

    private static int waitingAtBreaker(OutboxDispatcher dispatcher) {
        return dispatcher.protectionStatus().breakers().get(0).waiting();
    }

    private static int waiting(OutboxDispatcher dispatcher) {
        return dispatcher.protectionStatus().limits().stream()
                .mapToInt(Protection.Status.Place::waiting)
                .sum();
    }

    private record WakeCounter(AtomicInteger wakes) implements PollerNeeds.Poller {

        @Override
        public @Nullable Duration lockTimeout() {
            return null;
        }

        @Override
        public void wake() {
            wakes.incrementAndGet();
        }

        @Override
        public void wakeAt(Instant time) {}

        @Override
        public void wakeAfter(Duration time) {}
    }
}
