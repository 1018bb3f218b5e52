package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.fake.FakeLeadership;
import outbox.model.EventStatus;
import outbox.poller.OutboxPoller;
import outbox.spi.Leadership;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/** Tests what a dispatcher does, and does not do, while another node may lead. */
class DispatcherLeadershipTest {

    private final DispatcherRig rig = new DispatcherRig();
    private final FakeLeadership leadership = new FakeLeadership();
    private final List<String> delivered = new CopyOnWriteArrayList<>();
    private int workers = 1;

    @AfterEach
    void close() {
        leadership.sure = true; // otherwise close would wait for the marks
        rig.close();
    }

    @Test
    void the_leader_delivers_and_marks() {
        OutboxDispatcher dispatcher = leading();
        QueuedEvent event = rig.hot("t");

        dispatcher.enqueueHot(event);

        eventually(() -> assertThat(statusOf(event)).isEqualTo(EventStatus.DONE));
    }

    @Test
    void a_standby_leaves_what_its_process_wrote_to_the_leader() {
        OutboxDispatcher dispatcher = leading();
        leadership.sure = false;
        QueuedEvent event = rig.hot("t");

        boolean taken = dispatcher.enqueueHot(event);

        assertThat(taken).isTrue(); // this is normal: nothing to count or log as dropped
        assertThat(dispatcher.birthClaim(1, 0)).isNull();
        rig.close(); // drains the queues
        assertThat(delivered).isEmpty();
        assertThat(statusOf(event)).isEqualTo(EventStatus.NEW);
    }

    @Test
    void an_event_that_waits_when_the_term_ends_is_not_delivered() throws InterruptedException {
        OutboxDispatcher dispatcher = leading();
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        QueuedEvent waiting = rig.hot("t");
        dispatcher.enqueueHot(waiting);

        leadership.sure = false;
        gate.countDown();

        // the outcome writer asks repeatedly
        eventually(() -> assertThat(leadership.sureAsked.get()).isGreaterThan(10));
        leadership.sure = true;
        rig.close();
        assertThat(delivered).isEmpty();
        assertThat(rig.store.row(waiting.envelope().eventId()).attempts()).isZero();
        assertThat(statusOf(waiting)).isEqualTo(EventStatus.NEW);
    }

    @Test
    void what_waited_in_a_leadership_that_was_lost_is_not_delivered_in_the_next_one() throws InterruptedException {
        OutboxDispatcher dispatcher = leading();
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        QueuedEvent waiting = rig.hot("t");
        dispatcher.enqueueHot(waiting);
        Leadership seenByThePoller = Objects.requireNonNull(
                new DispatcherPollerHandler(dispatcher).needs().leadership());

        leadership.leads = false;
        assertThat(seenByThePoller.lead()).isFalse();
        leadership.leads = true;
        assertThat(seenByThePoller.lead()).isTrue();
        gate.countDown();
        QueuedEvent next = rig.hot("t");
        dispatcher.enqueueHot(next);

        eventually(() -> assertThat(statusOf(next)).isEqualTo(EventStatus.DONE));
        assertThat(delivered).containsExactly(next.envelope().eventId());
        assertThat(statusOf(waiting)).isEqualTo(EventStatus.NEW);
    }

    @Test
    void the_outcome_of_a_run_waits_while_it_is_in_doubt_who_leads() throws InterruptedException {
        OutboxDispatcher dispatcher = leading();
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch gate = rig.gate();
        rig.on("slow", event -> {
            inside.countDown();
            gate.await();
        });
        QueuedEvent event = rig.hot("slow");
        dispatcher.enqueueHot(event);
        DispatcherRig.await(inside);

        leadership.sure = false;
        gate.countDown();
        // it retries repeatedly
        eventually(() -> assertThat(leadership.sureAsked.get()).isGreaterThan(20));
        assertThat(statusOf(event)).isEqualTo(EventStatus.NEW);
        leadership.sure = true;

        eventually(() -> assertThat(statusOf(event)).isEqualTo(EventStatus.DONE));
    }

    @Test
    void the_outcome_of_a_run_is_not_written_once_leadership_was_lost() throws InterruptedException {
        workers = 2;
        OutboxDispatcher dispatcher = leading();
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch gate = rig.gate();
        rig.on("fails", event -> {
            inside.countDown();
            DispatcherRig.passUninterruptibly(gate);
            throw new IllegalStateException("fails");
        });
        rig.on("succeeds", event -> DispatcherRig.passUninterruptibly(gate));
        QueuedEvent fails = rig.hot("fails");
        QueuedEvent succeeds = rig.hot("succeeds");
        dispatcher.enqueueHot(succeeds);
        dispatcher.enqueueHot(fails);
        DispatcherRig.await(inside);

        leadership.leads = false;
        Objects.requireNonNull(dispatcher.needs().leadership()).lead();
        gate.countDown();
        rig.close();

        assertThat(rig.store.calls()).noneMatch(call -> call.startsWith("mark"));
        assertThat(rig.store.row(fails.envelope().eventId()).attempts()).isZero();
        assertThat(statusOf(succeeds)).isEqualTo(EventStatus.NEW);
    }

    @Test
    void a_listener_at_work_when_leadership_is_lost_is_interrupted() throws InterruptedException {
        OutboxDispatcher dispatcher = leading();
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        rig.on("waits", event -> {
            inside.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
        });
        dispatcher.enqueueHot(rig.hot("waits"));
        DispatcherRig.await(inside);

        leadership.leads = false;
        Objects.requireNonNull(dispatcher.needs().leadership()).lead();

        DispatcherRig.await(interrupted);
    }

    @Test
    void a_poller_asks_the_table_only_while_it_leads_and_asks_to_lead_each_interval() {
        OutboxDispatcher dispatcher = leading();
        QueuedEvent event = rig.cold("t");
        leadership.leads = false;
        leadership.sure = false;
        try (OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(rig.connections)
                .eventStore(rig.store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(20)
                .build()) {
            poller.start();
            eventually(() -> assertThat(leadership.asked.get()).isGreaterThan(5));
            assertThat(rig.store.calls()).doesNotContain("pollPending");

            leadership.sure = true;
            leadership.leads = true;

            eventually(() -> assertThat(statusOf(event)).isEqualTo(EventStatus.DONE));
        }
    }

    @Test
    void a_standby_that_cannot_find_out_who_leads_has_not_looked_at_the_table() {
        OutboxDispatcher dispatcher = leading();
        leadership.leads = false;
        leadership.led = false;
        try (OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(rig.connections)
                .eventStore(rig.store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build()) {
            poller.poll();
            assertThat(poller.status().sinceLook()).isNull();

            leadership.led = true;
            poller.poll();

            assertThat(poller.status().sinceLook()).isNotNull();
        }
    }

    @Test
    void a_leadership_that_fails_to_answer_is_none_and_stops_no_thread() throws InterruptedException {
        OutboxDispatcher dispatcher = leading();
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        QueuedEvent waiting = rig.hot("t");
        dispatcher.enqueueHot(waiting);

        leadership.fails = true;
        gate.countDown();
        eventually(() -> assertThat(leadership.sureAsked.get()).isGreaterThan(10));
        leadership.fails = false;

        QueuedEvent next = rig.hot("t");
        dispatcher.enqueueHot(next);
        eventually(() -> assertThat(statusOf(next)).isEqualTo(EventStatus.DONE));
        assertThat(statusOf(waiting)).isEqualTo(EventStatus.NEW);
    }

    @Test
    void without_a_leadership_nobody_is_asked() {
        OutboxDispatcher dispatcher = rig.start(builder -> builder);

        assertThat(dispatcher.needs().leadership()).isNull();
        assertThat(new DispatcherPollerHandler(dispatcher).needs().leadership()).isNull();
    }

    private OutboxDispatcher leading() {
        rig.on("t", event -> delivered.add(event.eventId()));
        return rig.start(builder -> builder.workerCount(workers).leadership(leadership));
    }

    private EventStatus statusOf(QueuedEvent event) {
        return rig.store.status(event.envelope().eventId());
    }
}
