package outbox.dispatch;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.Scheduler;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/** Tests what the queues count and which threads they wake. */
class QueueRoomTest {

    private static final int BYTES = 10_000;

    private final AtomicInteger wakes = new AtomicInteger();

    // ---- turns ----

    @Test
    void two_hot_deliveries_are_taken_for_each_cold_one_and_then_what_is_left() {
        DeliveryQueues queues = queues(10, 10);
        for (int i = 0; i < 4; i++) {
            queues.offer(delivery(Source.HOT));
            queues.offer(delivery(Source.COLD));
        }

        List<Source> taken = new ArrayList<>();
        for (Delivery next = queues.takeNow(); next != null; next = queues.takeNow()) {
            taken.add(next.source());
        }

        Source hot = Source.HOT;
        Source cold = Source.COLD;
        assertThat(taken).containsExactly(hot, hot, cold, hot, hot, cold, cold, cold);
    }

    @Test
    void an_empty_queue_keeps_no_taker_from_the_other() throws InterruptedException {
        for (Source source : Source.values()) {
            DeliveryQueues queues = queues(10, 10);
            List<Delivery> offered =
                    Stream.generate(() -> delivery(source)).limit(7).toList();
            offered.forEach(queues::offer);

            List<Delivery> taken = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                taken.add(queues.take());
            }

            assertThat(taken).containsExactlyElementsOf(offered);
        }
    }

    @Test
    void what_was_set_aside_comes_first_when_it_is_resumed() {
        DeliveryQueues queues = queues(10, 10);
        queues.offer(delivery(Source.HOT));
        queues.offer(delivery(Source.HOT));
        Delivery aside = Objects.requireNonNull(queues.takeNow());
        queues.suspend(aside);
        assertThat(queues.takeNow()).isNotNull().isNotSameAs(aside);

        queues.resume(aside);

        assertThat(queues.takeNow()).isSameAs(aside);
    }

    @Test
    void a_woken_taker_takes_what_is_there_before_it_returns_with_nothing() throws InterruptedException {
        DeliveryQueues queues = queues(10, 10);
        Delivery only = delivery(Source.COLD);
        queues.wakeAll(1);
        queues.offer(only);

        assertThat(queues.take()).isSameAs(only);
        assertThat(queues.take()).isNull();
    }

    // ---- room ----

    @Test
    void room_is_taken_until_a_delivery_is_taken_or_freed() {
        DeliveryQueues queues = queues(2, 1);
        Delivery reserved = delivery(Source.HOT);
        Delivery dropped = delivery(Source.HOT);

        assertThat(queues.reserve(reserved)).isTrue();
        assertThat(queues.reserve(dropped)).isTrue();
        assertThat(queues.offer(delivery(Source.HOT))).isFalse();
        assertThat(queues.reserve(delivery(Source.HOT))).isFalse();
        assertThat(queues.takeNow()).isNull(); // it has room, but is not ready
        assertThat(queues.isEmpty()).isFalse();
        assertThat(queues.offer(delivery(Source.COLD))).isTrue();

        queues.unreserve(dropped);
        queues.remove(dropped);
        assertThat(queues.room(Source.HOT)).isEqualTo(1);
        queues.ready(reserved);
        take(queues, 2);

        assertUnused(queues, 2, 1);
    }

    @Test
    void what_is_set_aside_takes_its_room_again() {
        DeliveryQueues queues = queues(1, 1);
        queues.offer(delivery(Source.COLD));
        Delivery aside = Objects.requireNonNull(queues.takeNow());
        assertThat(queues.room(Source.COLD)).isEqualTo(1);

        queues.suspend(aside);

        assertThat(queues.room(Source.COLD)).isZero();
        assertThat(queues.offer(delivery(Source.COLD))).isFalse();
        assertThat(queues.depth(Source.COLD)).isEqualTo(1);
        assertThat(queues.isEmpty()).isFalse();
        queues.resume(aside);
        take(queues, 1);
        assertUnused(queues, 1, 1);
    }

    @Test
    void counts_are_right_again_after_everything_was_taken_however_threads_meet() throws InterruptedException {
        long seed = new Random().nextLong();
        int perGiver = 5_000;
        DeliveryQueues queues = queues(7, 5);
        queues.onColdRoom(wakes::incrementAndGet);
        AtomicInteger gone = new AtomicInteger(); // removed after a take, or freed
        AtomicBoolean over = new AtomicBoolean();
        CountDownLatch ended = new CountDownLatch(6);
        List<Thread> takers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Random random = new Random(seed + i);
            takers.add(thread(ended, () -> takeUntil(over, queues, random, gone)));
            Source source = i == 0 ? Source.HOT : Source.COLD;
            Random giving = new Random(seed + 10 + i);
            thread(ended, () -> give(perGiver, source, queues, giving, gone)).start();
        }
        takers.forEach(Thread::start);

        Random interrupting = new Random(seed + 20);
        while (gone.get() < 3 * perGiver && takers.stream().allMatch(Thread::isAlive)) {
            // an interrupt from outside; no event is lost
            takers.get(interrupting.nextInt(3)).interrupt();
            queues.muchColdRoom();
            queues.room(Source.COLD);
            Thread.onSpinWait();
        }
        over.set(true);
        queues.wakeAll(3);

        assertThat(ended.await(60, TimeUnit.SECONDS)).as("seed %d", seed).isTrue();
        assertThat(gone).as("seed %d", seed).hasValue(3 * perGiver);
        assertUnused(queues, 7, 5);
    }

    private static Thread thread(CountDownLatch ended, Runnable task) {
        Thread thread = new Thread(() -> {
            task.run();
            ended.countDown();
        });
        thread.setDaemon(true);
        return thread;
    }

    private static void give(int count, Source source, DeliveryQueues queues, Random random, AtomicInteger gone) {
        for (int given = 0; given < count; ) {
            Delivery delivery = delivery(source);
            boolean later = random.nextBoolean();
            if (!(later ? queues.reserve(delivery) : queues.offer(delivery))) {
                Thread.onSpinWait();
                continue;
            }
            given++;
            if (later && random.nextInt(4) == 0) {
                gone.incrementAndGet();
                queues.unreserve(delivery);
                queues.remove(delivery);
            } else if (later) {
                queues.ready(delivery);
            }
        }
    }

    private static void takeUntil(AtomicBoolean over, DeliveryQueues queues, Random random, AtomicInteger gone) {
        while (!over.get()) {
            try {
                Delivery taken = random.nextInt(8) == 0 ? queues.takeNow() : queues.take();
                if (taken != null && random.nextInt(8) == 0) {
                    queues.suspend(taken);
                    queues.resume(taken);
                } else if (taken != null) {
                    queues.remove(taken);
                    gone.incrementAndGet();
                }
            } catch (InterruptedException e) {
                // ignored, as workers do
            }
        }
    }

    // ---- which threads are woken ----

    @Test
    void whoever_was_refused_is_woken_once_when_the_cold_queue_is_half_empty() {
        DeliveryQueues queues = fullColdQueue(10);

        assertThat(queues.muchColdRoom()).isZero();
        take(queues, 4);
        assertThat(wakes).hasValue(0);
        take(queues, 1);
        assertThat(wakes).hasValue(1);
        take(queues, 5);
        assertThat(wakes).hasValue(1);
        assertThat(queues.muchColdRoom()).isEqualTo(10);
    }

    @Test
    void whoever_found_the_cold_queue_full_is_woken_too() {
        DeliveryQueues queues = fullColdQueue(10);

        assertThat(queues.room(Source.COLD)).isZero();
        take(queues, 4);
        assertThat(wakes).hasValue(0);
        take(queues, 1);

        assertThat(wakes).hasValue(1);
    }

    @Test
    void nobody_is_woken_who_was_not_refused() {
        DeliveryQueues queues = queues(10, 10);
        queues.onColdRoom(wakes::incrementAndGet);
        queues.offer(delivery(Source.COLD));
        assertThat(queues.muchColdRoom()).isEqualTo(9);
        assertThat(queues.room(Source.COLD)).isEqualTo(9);
        assertThat(queues.room(Source.HOT)).isEqualTo(10);

        take(queues, 1);

        assertThat(wakes).hasValue(0);
    }

    @Test
    void room_that_is_freed_without_a_run_wakes_as_well() {
        DeliveryQueues queues = queues(1, 1);
        queues.onColdRoom(wakes::incrementAndGet);
        Delivery reserved = delivery(Source.COLD);
        queues.reserve(reserved);
        assertThat(queues.muchColdRoom()).isZero();

        queues.unreserve(reserved);

        assertThat(wakes).hasValue(1);
    }

    @Test
    void bytes_of_hot_events_refuse_a_poller_until_they_are_half_gone() {
        DeliveryQueues queues = new DeliveryQueues(10, 10, 100);
        queues.onColdRoom(wakes::incrementAndGet);
        queues.offer(delivery(Source.HOT, 40));
        queues.offer(delivery(Source.HOT, 30));

        assertThat(queues.muchColdRoom()).isZero();
        assertThat(queues.byteRoom()).isEqualTo(30);
        take(queues, 1);

        assertThat(wakes).hasValue(1);
        assertThat(queues.muchColdRoom()).isEqualTo(10);
        assertThat(queues.byteRoom()).isEqualTo(70);
    }

    @Test
    void bytes_are_held_until_the_delivery_is_gone_and_counted_once() {
        DeliveryQueues queues = new DeliveryQueues(10, 10, 100);
        queues.onColdRoom(wakes::incrementAndGet);
        Delivery refused = delivery(Source.COLD, 90);
        queues.offer(delivery(Source.COLD, 80));
        assertThat(queues.offer(refused)).isFalse();
        Delivery taken = Objects.requireNonNull(queues.takeNow());
        assertThat(queues.byteRoom()).isEqualTo(20);
        assertThat(queues.muchColdRoom()).isZero();

        queues.suspend(taken);
        queues.resume(taken);
        queues.takeNow();
        queues.remove(refused);
        assertThat(queues.byteRoom()).isEqualTo(20);
        assertThat(wakes).hasValue(0);
        queues.remove(taken);
        queues.remove(taken);

        assertThat(queues.byteRoom()).isEqualTo(100);
        assertThat(wakes).hasValue(1);
    }

    @Test
    void a_waiting_taker_gets_what_becomes_ready_and_what_is_resumed() throws InterruptedException {
        DeliveryQueues queues = queues(10, 10);
        Delivery reserved = delivery(Source.COLD);
        queues.reserve(reserved);
        Delivery aside = delivery(Source.HOT);
        queues.suspend(aside);
        List<Delivery> taken = new CopyOnWriteArrayList<>();
        CountDownLatch ended = new CountDownLatch(1);
        Thread taker = thread(ended, () -> {
            try {
                taken.add(queues.take());
                taken.add(queues.take());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        taker.start();

        eventually(() -> assertThat(taker.getState()).isEqualTo(Thread.State.WAITING));
        queues.resume(aside);
        eventually(() -> assertThat(taken).containsExactly(aside));
        eventually(() -> assertThat(taker.getState()).isEqualTo(Thread.State.WAITING));
        queues.ready(reserved);

        assertThat(ended.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(taken).containsExactly(aside, reserved);
    }

    // ---- helpers ----

    private static DeliveryQueues queues(int hot, int cold) {
        return new DeliveryQueues(hot, cold, BYTES);
    }

    private DeliveryQueues fullColdQueue(int capacity) {
        DeliveryQueues queues = queues(1, capacity);
        queues.onColdRoom(wakes::incrementAndGet);
        for (int i = 0; i < capacity; i++) {
            assertThat(queues.offer(delivery(Source.COLD))).isTrue();
        }
        return queues;
    }

    /** Takes and removes this number of deliveries. */
    private static void take(DeliveryQueues queues, int count) {
        for (int i = 0; i < count; i++) {
            Delivery taken = queues.takeNow();
            assertThat(taken).isNotNull();
            queues.remove(Objects.requireNonNull(taken));
        }
    }

    private static void assertUnused(DeliveryQueues queues, int hot, int cold) {
        assertThat(queues.isEmpty()).isTrue();
        assertThat(queues.room(Source.HOT)).isEqualTo(hot);
        assertThat(queues.room(Source.COLD)).isEqualTo(cold);
        assertThat(queues.depth(Source.HOT)).isZero();
        assertThat(queues.depth(Source.COLD)).isZero();
        assertThat(queues.byteRoom()).isEqualTo(BYTES);
    }

    private static Delivery delivery(Source source) {
        return delivery(source, 2);
    }

    private static Delivery delivery(Source source, int bytes) {
        EventEnvelope event =
                EventEnvelope.builder("T").payloadJson("x".repeat(bytes)).build();
        return new Delivery(new QueuedEvent(event, source, 0), null, false, Scheduler.system());
    }
}
