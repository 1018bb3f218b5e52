package outbox.dispatch;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.Scheduler;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

class DeliveryQueuesTest {

    private static final EventEnvelope EVENT = EventEnvelope.ofJson("T", "{}");

    @Test
    void no_event_is_left_waiting_however_takers_and_givers_meet() throws InterruptedException {
        DeliveryQueues queues = new DeliveryQueues(2, 2, 1 << 20);
        AtomicInteger taken = new AtomicInteger();
        List<Thread> takers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread taker = new Thread(() -> takeUntilInterrupted(queues, taken));
            taker.setDaemon(true);
            taker.start();
            takers.add(taker);
        }
        List<Thread> givers = new ArrayList<>();
        for (Source source : Source.values()) {
            Thread giver = new Thread(() -> {
                for (int given = 0; given < 300_000; ) {
                    if (queues.offer(
                            new Delivery(new QueuedEvent(EVENT, source, 0), null, false, Scheduler.system()))) {
                        given++;
                    } else {
                        LockSupport.parkNanos(1); // there may be fewer processors than threads
                    }
                }
            });
            giver.start();
            givers.add(giver);
        }
        for (Thread giver : givers) {
            giver.join(60_000);
        }

        await().untilAsserted(() -> assertThat(taken).hasValue(600_000));
        assertThat(queues.isEmpty()).isTrue();
        takers.forEach(Thread::interrupt);
    }

    private static void takeUntilInterrupted(DeliveryQueues queues, AtomicInteger taken) {
        try {
            while (true) {
                Delivery delivery = queues.take();
                if (delivery != null) {
                    queues.remove(delivery);
                    taken.incrementAndGet();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
