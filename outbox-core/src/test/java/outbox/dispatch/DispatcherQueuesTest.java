package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.fake.ScriptedStore;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.LeasingEventStore;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static outbox.fake.Eventually.eventually;

class DispatcherQueuesTest {

    private final DispatcherRig rig = new DispatcherRig();
    private final List<String> order = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void two_hot_events_are_taken_for_each_cold_one() throws InterruptedException {
        List<String> taken = takenFrom(40, 20);

        int hot = 0;
        for (int i = 0; i < taken.size(); i++) {
            hot += taken.get(i).equals("hot") ? 1 : 0;
            assertThat(hot)
                    .as("hot events among the first %d", i + 1)
                    .isBetween((i + 1) * 2 / 3 - 1, (i + 1) * 2 / 3 + 1);
        }
    }

    @Test
    void cold_events_are_not_starved_by_many_hot_ones() throws InterruptedException {
        List<String> taken = takenFrom(200, 5);

        assertThat(taken.subList(0, 16)).filteredOn("cold"::equals).hasSize(5);
    }

    @Test
    void hot_events_are_not_starved_by_many_cold_ones() throws InterruptedException {
        List<String> taken = takenFrom(10, 200);

        assertThat(taken.subList(0, 16)).filteredOn("hot"::equals).hasSize(10);
    }

    @Test
    void an_empty_queue_costs_the_other_no_turn() throws InterruptedException {
        assertThat(takenFrom(30, 0)).hasSize(30);
        order.clear();
        assertThat(takenFrom(0, 30)).hasSize(30);
    }

    @Test
    void without_workers_events_are_taken_until_the_queue_is_full() {
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(0).hotQueueCapacity(3).coldQueueCapacity(2));

        assertThat(dispatcher.hasColdQueueCapacity()).isTrue();
        for (int i = 0; i < 3; i++) {
            assertThat(dispatcher.enqueueHot(rig.hot("t"))).isTrue();
        }
        assertThat(dispatcher.enqueueHot(rig.hot("t"))).isFalse();
        assertThat(dispatcher.enqueueCold(rig.cold("t"))).isTrue();
        assertThat(dispatcher.hasColdQueueCapacity()).isTrue();
        assertThat(dispatcher.enqueueCold(rig.cold("t"))).isTrue();
        assertThat(dispatcher.hasColdQueueCapacity()).isFalse();
        assertThat(dispatcher.enqueueCold(rig.cold("t"))).isFalse();
        assertThat(rig.store.calls()).isEmpty();
    }

    @Test
    void a_refused_event_can_be_offered_again_once_there_is_room() throws InterruptedException {
        rig.on("t", event -> {});
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).hotQueueCapacity(1));
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        dispatcher.enqueueHot(rig.hot("t"));
        QueuedEvent refused = rig.hot("t");

        assertThat(dispatcher.enqueueHot(refused)).isFalse();
        gate.countDown();

        eventually(() -> assertThat(dispatcher.enqueueHot(refused)).isTrue());
        eventually(
                () -> assertThat(rig.store.status(refused.envelope().eventId())).isEqualTo(EventStatus.DONE));
    }

    @Test
    void payloads_in_the_queues_are_bounded_in_bytes() {
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(0).maxQueuedBytes(100));

        assertThat(dispatcher.enqueueHot(ofSize(60))).isTrue();
        assertThat(dispatcher.enqueueHot(ofSize(41))).isFalse();
        assertThat(dispatcher.enqueueHot(ofSize(40))).isTrue();
        assertThat(dispatcher.enqueueHot(ofSize(1))).isFalse();
        assertThat(dispatcher.hasColdQueueCapacity()).isFalse();
    }

    @Test
    void a_single_payload_larger_than_the_bound_is_let_in() {
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(0).maxQueuedBytes(100));

        assertThat(dispatcher.enqueueHot(ofSize(101))).isTrue();
        assertThat(dispatcher.enqueueHot(ofSize(1))).isFalse();
    }

    @Test
    void bytes_are_held_until_outcomes_are_written() {
        List<String> delivered = new CopyOnWriteArrayList<>();
        rig.on("t", event -> delivered.add(event.eventId()));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.maxQueuedBytes(100));
        rig.connections.goDown(true);
        QueuedEvent first = ofSize(100);

        assertThat(dispatcher.enqueueHot(first)).isTrue();
        eventually(() -> assertThat(delivered).containsExactly(first.envelope().eventId()));
        assertThat(dispatcher.enqueueHot(ofSize(1))).isFalse();
        rig.connections.goDown(false);

        eventually(() -> assertThat(dispatcher.enqueueHot(ofSize(100))).isTrue());
    }

    @Test
    void bytes_are_free_again_when_events_are_done() throws InterruptedException {
        rig.on("t", event -> {});
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).maxQueuedBytes(150));
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        assertThat(dispatcher.enqueueHot(ofSize(100))).isTrue();
        assertThat(dispatcher.enqueueHot(ofSize(100))).isFalse();

        gate.countDown();

        eventually(() -> assertThat(dispatcher.enqueueHot(ofSize(100))).isTrue());
    }

    @Test
    void while_outcomes_pile_up_nothing_is_taken_and_nothing_is_born_leased() {
        LeasingEventStore leasing =
                ScriptedStore.of((self, method, arguments) -> method.getName().equals("release") ? 0 : null);
        OutboxDispatcher dispatcher = rig.start(builder -> builder.eventStore(leasing));
        Claim claim = dispatcher.birthClaim(1, 0);
        assertThat(claim).isNotNull();
        QueuedEvent event = rig.hot("t");
        rig.connections.goDown(true);

        dispatcher.release(event, claim);
        eventually(() -> assertThat(rig.metrics.count("incrementMarkFailures")).isPositive());
        // the outcome writer takes nothing more before the first one is written
        for (int i = 0; i < 10_000; i++) {
            dispatcher.release(event, claim);
        }

        assertThat(dispatcher.enqueueHot(event)).isFalse();
        assertThat(dispatcher.birthClaim(1, 0)).isNull();
        rig.connections.goDown(false);

        eventually(() -> assertThat(dispatcher.birthClaim(1, 0)).isNotNull());
    }

    @Test
    void a_queued_event_has_an_envelope_a_source_and_a_count() {
        EventEnvelope event = EventEnvelope.ofJson("t", "{}");

        QueuedEvent queued = new QueuedEvent(event, Source.COLD, 2);

        assertThat(queued.envelope()).isSameAs(event);
        assertThat(queued.source()).isEqualTo(Source.COLD);
        assertThat(queued.attempts()).isEqualTo(2);
        assertThatIllegalArgumentException().isThrownBy(() -> new QueuedEvent(event, Source.HOT, -1));
    }

    /** The order in which a single worker takes events that are all queued before it takes the first one. */
    private List<String> takenFrom(int hot, int cold) throws InterruptedException {
        if (rig.registry.listenerFor("__GLOBAL__", "hot") == null) {
            rig.on("hot", event -> order.add("hot")).on("cold", event -> order.add("cold"));
        }
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        for (int i = 0; i < hot; i++) {
            assertThat(dispatcher.enqueueHot(rig.hot("hot"))).isTrue();
        }
        for (int i = 0; i < cold; i++) {
            assertThat(dispatcher.enqueueCold(rig.cold("cold"))).isTrue();
        }

        gate.countDown();

        eventually(() -> assertThat(order).hasSize(hot + cold));
        return new ArrayList<>(order);
    }

    private QueuedEvent ofSize(int bytes) {
        EventEnvelope event =
                EventEnvelope.builder("t").payloadJson("x".repeat(bytes)).build();
        return new QueuedEvent(rig.store.given(event), Source.HOT, 0);
    }
}
