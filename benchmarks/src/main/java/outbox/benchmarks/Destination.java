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

/**
 * The destination of invoices. It can be down, and it records how many calls run at the same time. Any thread may
 * call any method.
 */
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

    // Guarded by this. The index is a number of concurrent calls, the value is the System.nanoTime at which it was
    // first reached.
    private final long[] reachedAt = new long[1 + AT_A_TIME];
    private int present; // guarded by this
    private long firstDone = NEVER; // guarded by this
    private long lastDone = NEVER; // guarded by this

    /** Accepts this number of events, beginning with the first number. Each call takes the given time. */
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

    /** Handles a payload; called by the listener. */
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

    /** Waits until every event was delivered. Returns false if the time limit passes first. */
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

    /** Returns when the first event was delivered, by {@link System#nanoTime()}. */
    synchronized long firstDone() {
        return firstDone;
    }

    /** Returns when the last event was delivered, by {@link System#nanoTime()}. */
    synchronized long lastDone() {
        return lastDone;
    }

    /** Returns the maximum number of concurrent calls until this time. */
    synchronized int mostUntil(long nanoTime) {
        return IntStream.range(0, reachedAt.length)
                .filter(count -> reachedAt[count] != NEVER && reachedAt[count] <= nanoTime)
                .max()
                .orElse(0);
    }
}
