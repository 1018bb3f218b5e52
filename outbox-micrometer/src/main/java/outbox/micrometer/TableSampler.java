package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * Reads a value from a table when a scrape asks for it, so a node that is not scraped sends no queries.
 *
 * <p>Each read uses a new thread, one at a time. The scrape that starts the read waits for a limited time; other
 * scrapes use the last sample. A scrape always gets a result, even if the database fails: a sample that is too old
 * counts as unknown.
 */
final class TableSampler<T> {

    private static final Logger LOG = SafeLogger.of(TableSampler.class);
    private static final Duration SHORTEST_KEEP = Duration.ofMinutes(1);

    private final String what;
    private final Supplier<T> source;
    private final long everyNanos;
    private final long timeoutNanos;
    private final long keepNanos;
    private final Counter failures;
    private final LongSupplier nanoClock;
    private final long startNanos;
    private volatile @Nullable Sample<T> last; // written by the reading thread, read by scrapes
    private boolean running; // guarded by this, like nextNanos
    private long nextNanos;

    private record Sample<T>(T value, long nanos) {}

    TableSampler(
            String what,
            Supplier<T> source,
            Duration every,
            Duration timeout,
            Counter failures,
            LongSupplier nanoClock) {
        this.what = what;
        this.source = source;
        this.everyNanos = every.toNanos();
        this.timeoutNanos = timeout.toNanos();
        this.keepNanos = Math.max(SHORTEST_KEEP.toNanos(), 6 * everyNanos);
        this.failures = failures;
        this.nanoClock = nanoClock;
        this.startNanos = nanoClock.getAsLong();
        this.nextNanos = startNanos;
    }

    /** Returns the current value, or null if it was never read or is too old. */
    @Nullable
    T current() {
        Sample<T> sample = latest();
        return sample == null || isOld(sample) ? null : sample.value();
    }

    /** Returns the last value of any age, or null if it was never read. */
    @Nullable
    T last() {
        Sample<T> sample = latest();
        return sample == null ? null : sample.value();
    }

    /**
     * Returns an age in seconds that is never unknown: while the table cannot be read, the age of the last sample is
     * added.
     *
     * @param age computes the age from a sample
     */
    double age(ToDoubleFunction<T> age) {
        Sample<T> sample = latest();
        if (sample == null) {
            return seconds(startNanos);
        }
        double sampled = age.applyAsDouble(sample.value());
        return isOld(sample) ? sampled + seconds(sample.nanos()) : sampled;
    }

    private @Nullable Sample<T> latest() {
        if (isDue()) {
            read();
        }
        return last;
    }

    private boolean isOld(Sample<T> sample) {
        return nanoClock.getAsLong() - sample.nanos() > keepNanos;
    }

    private double seconds(long sinceNanos) {
        return (nanoClock.getAsLong() - sinceNanos) / 1e9;
    }

    /** Returns whether the caller must read now. If the previous read is still running, counts this one as failed. */
    private synchronized boolean isDue() {
        long now = nanoClock.getAsLong();
        if (now - nextNanos < 0) {
            return false;
        }
        nextNanos = now + everyNanos;
        if (running) {
            failures.increment();
            return false;
        }
        running = true;
        return true;
    }

    private void read() {
        CountDownLatch ended = new CountDownLatch(1);
        AtomicBoolean failed = new AtomicBoolean(); // counted once, even if the read is both late and failed
        try {
            Thread thread = new Thread(() -> read(ended, failed), "outbox-" + what);
            thread.setDaemon(true);
            thread.start();
        } catch (Throwable e) { // for example no memory for a thread
            end(ended);
            fail(failed, e);
            return;
        }
        try {
            if (!ended.await(timeoutNanos, TimeUnit.NANOSECONDS)) {
                fail(failed, null);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void read(CountDownLatch ended, AtomicBoolean failed) {
        try {
            last = new Sample<>(Objects.requireNonNull(source.get(), what), nanoClock.getAsLong());
        } catch (Throwable e) {
            fail(failed, e);
        } finally {
            end(ended);
        }
    }

    private synchronized void end(CountDownLatch ended) {
        running = false;
        ended.countDown();
    }

    private void fail(AtomicBoolean failed, @Nullable Throwable why) {
        if (failed.compareAndSet(false, true)) {
            failures.increment();
            LOG.log(Level.DEBUG, "The " + what + (why == null ? " was not read in time" : " cannot be read"), why);
        }
    }
}
