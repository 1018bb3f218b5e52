package outbox.benchmarks;

import java.net.ConnectException;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.IntStream;

/** Where invoices go: may be down, and knows how many it had to do with at a time. Any thread may call any method. */
final class Destination {
    static final int AT_A_TIME = 256;

    private static final long NEVER = Long.MAX_VALUE;

    private final int firstNumber;
    private final Duration takes;
    private final AtomicIntegerArray deliveries;
    private final CountDownLatch missing;
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger duplicates = new AtomicInteger();
    private volatile boolean down;

    // Guarded by this. From when on, by System.nanoTime, so many events were there at a time; the index is the number.
    private final long[] reachedAt = new long[1 + AT_A_TIME];
    private int present;
    private long firstDone = NEVER;
    private long lastDone = NEVER;

    /** For so many events from this number on, each of which takes a while. */
    Destination(int firstNumber, int events, Duration takes) {
        this.firstNumber = firstNumber;
        this.takes = takes;
        deliveries = new AtomicIntegerArray(events);
        missing = new CountDownLatch(events);
        Arrays.fill(reachedAt, NEVER);
    }

    void goDown() {
        down = true;
    }

    void comeBack() {
        down = false;
    }

    /** What the listener does with a payload. */
    CompletionStage<?> receive(String payload) throws ConnectException {
        if (down) {
            refused.incrementAndGet();
            throw new ConnectException("The destination is down");
        }
        Event event = Event.parse(payload);
        begin();
        if (takes.isZero()) {
            end(event);
            return CompletableFuture.completedFuture(null);
        }
        return CompletableFuture.runAsync(
                () -> end(event),
                CompletableFuture.delayedExecutor(takes.toNanos(), TimeUnit.NANOSECONDS, Runnable::run));
    }

    private synchronized void begin() {
        present++;
        if (reachedAt[present] == NEVER) {
            reachedAt[present] = System.nanoTime();
        }
    }

    private void end(Event event) {
        synchronized (this) {
            present--;
            lastDone = System.nanoTime();
            firstDone = Math.min(firstDone, lastDone);
        }
        if (deliveries.getAndIncrement(event.number() - firstNumber) > 0) {
            duplicates.incrementAndGet();
        } else {
            missing.countDown();
        }
    }

    /** Waits until every event was delivered; false if the time ran out before. */
    boolean awaitAll(Duration limit) throws InterruptedException {
        return missing.await(limit.toNanos(), TimeUnit.NANOSECONDS);
    }

    int delivered() {
        return deliveries.length() - (int) missing.getCount();
    }

    int refused() {
        return refused.get();
    }

    int duplicates() {
        return duplicates.get();
    }

    /** When the first event was delivered, by {@link System#nanoTime()}. */
    synchronized long firstDone() {
        return firstDone;
    }

    /** When the last event was delivered, by {@link System#nanoTime()}. */
    synchronized long lastDone() {
        return lastDone;
    }

    /** How many events there were at a time at most, until this time. */
    synchronized int mostUntil(long nanoTime) {
        return IntStream.range(0, reachedAt.length)
                .filter(count -> reachedAt[count] != NEVER && reachedAt[count] <= nanoTime)
                .max()
                .orElse(0);
    }
}
