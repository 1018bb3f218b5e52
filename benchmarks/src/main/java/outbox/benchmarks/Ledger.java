package outbox.benchmarks;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The listener of every contender. It counts deliveries and detects duplicates and events out of order. Any thread
 * may call any method.
 */
final class Ledger {
    private final long sleepMillis;
    private final int failingAggregate;
    private final AtomicIntegerArray deliveries;
    private final AtomicIntegerArray lastOfAggregate;
    private final AtomicLongArray committedAt;
    private final AtomicLongArray deliveredAt;
    private final AtomicInteger seen = new AtomicInteger();
    private final AtomicInteger duplicates = new AtomicInteger();
    private final AtomicInteger outOfOrder = new AtomicInteger();
    private final CountDownLatch missing;

    /**
     * For events 0 to {@code events - 1}, which are spread over {@code aggregates} in turn. The listener sleeps for
     * the given time, and fails for one aggregate unless that is -1.
     */
    Ledger(int events, int aggregates, long sleepMillis, int failingAggregate) {
        this.sleepMillis = sleepMillis;
        this.failingAggregate = failingAggregate;
        deliveries = new AtomicIntegerArray(events);
        lastOfAggregate = new AtomicIntegerArray(aggregates);
        for (int i = 0; i < aggregates; i++) {
            lastOfAggregate.set(i, -1);
        }
        committedAt = new AtomicLongArray(events);
        deliveredAt = new AtomicLongArray(events);
        int failing = failingAggregate < 0 ? 0 : events / aggregates;
        missing = new CountDownLatch(events - failing);
    }

    /** Handles a payload; called by the listener. */
    void deliver(String payload) {
        long now = System.nanoTime();
        Event event = Event.parse(payload);
        if (event.aggregate() == failingAggregate) {
            throw new IllegalStateException("This aggregate always fails");
        }
        if (sleepMillis > 0) {
            sleep();
        }
        int last = lastOfAggregate.getAndSet(event.aggregate(), event.sequence());
        if (deliveries.getAndIncrement(event.number()) > 0) {
            duplicates.incrementAndGet();
            return;
        }
        if (last > event.sequence()) {
            outOfOrder.incrementAndGet();
        }
        deliveredAt.set(event.number(), now);
        seen.incrementAndGet();
        missing.countDown();
    }

    private void sleep() {
        try {
            Thread.sleep(sleepMillis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted while it slept", e);
        }
    }

    void committed(int number, long nanoTime) {
        committedAt.set(number, nanoTime);
    }

    /** Waits until every event that can be delivered was delivered. Returns false if the time limit passes first. */
    boolean awaitAll(long untilNanoTime) throws InterruptedException {
        return missing.await(untilNanoTime - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    int seen() {
        return seen.get();
    }

    int duplicates() {
        return duplicates.get();
    }

    int outOfOrder() {
        return outOfOrder.get();
    }

    /**
     * Returns the milliseconds from commit to listener of the events from this number on, sorted. Events that were
     * not delivered are left out.
     */
    double[] latencies(int from) {
        return java.util.stream.IntStream.range(from, deliveries.length())
                .filter(number -> deliveries.get(number) > 0)
                .mapToDouble(number -> (deliveredAt.get(number) - committedAt.get(number)) / 1e6)
                .map(millis -> Math.max(0, millis)) // the listener may run before the commit has returned
                .sorted()
                .toArray();
    }
}
