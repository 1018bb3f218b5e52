package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Reads a value from the database repeatedly on its own thread, so that callers never wait for the database. After
 * each read the thread waits for the interval, or for ten times the duration of the read if that is longer.
 * Thread-safe.
 */
final class BackgroundReading<T> implements AutoCloseable {

    /** A value and its age. */
    record Sample<T>(T value, Duration age) {}

    private record Read<T>(T value, long nanos) {}

    private static final Logger LOG = SafeLogger.of(BackgroundReading.class);
    private static final int REST = 10; // a pause is at least this many times as long as the read before it

    private final String what;
    private final Callable<T> source;
    private final long intervalNanos;
    private final long startNanos = System.nanoTime();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread thread;
    private volatile @Nullable Read<T> last; // written by the reading thread

    private BackgroundReading(String what, Callable<T> source, Duration interval) {
        this.what = what;
        this.source = source;
        this.intervalNanos = interval.toNanos();
        this.thread = new Thread(this::run, "outbox-relay-" + what);
        thread.setDaemon(true);
    }

    static <T> BackgroundReading<T> start(String what, Callable<T> source, Duration interval) {
        BackgroundReading<T> reading = new BackgroundReading<>(what, source, interval);
        reading.thread.start();
        return reading;
    }

    /** The last value read; empty before the first successful read. */
    Optional<Sample<T>> last() {
        Read<T> read = last;
        return read == null ? Optional.empty() : Optional.of(new Sample<>(read.value(), since(read.nanos())));
    }

    /** The time since the last successful read, or since the start if there was none. */
    Duration sinceSuccess() {
        Read<T> read = last;
        return since(read == null ? startNanos : read.nanos());
    }

    private static Duration since(long nanos) {
        return Duration.ofNanos(System.nanoTime() - nanos);
    }

    private void run() {
        long rest;
        do {
            long start = System.nanoTime();
            read();
            rest = Math.max(intervalNanos, REST * (System.nanoTime() - start));
        } while (!closesWithin(rest));
    }

    private void read() {
        try {
            T value = source.call();
            last = new Read<>(value, System.nanoTime());
        } catch (Exception | Error e) {
            LOG.log(Level.DEBUG, "Cannot read " + what + "; it is tried again", e);
        }
    }

    private boolean closesWithin(long nanos) {
        try {
            return closing.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return true; // close() interrupts the thread
        }
    }

    @Override
    public void close() {
        closing.countDown();
        thread.interrupt();
    }
}
