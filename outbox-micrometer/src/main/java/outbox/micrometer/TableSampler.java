package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import org.jspecify.annotations.Nullable;
import outbox.spi.SafeLogger;

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
 * Reads a number of a table when a scrape asks for it, so a node that nobody scrapes asks nothing of the database.
 *
 * <p>A sample is read on a thread of its own that ends with it, one at a time. The scrape that started it waits for a while; everybody else takes the last sample. Whatever happens to the
 * database, a scrape is answered: a sample that is too old counts as unknown.
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
    private volatile @Nullable Sample<T> last; // the thread of the sample writes, scrapes read
    private boolean running; // guarded by this, as the next
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

    /** Null if it is not known: never read, or not for a while. */
    @Nullable
    T current() {
        Sample<T> sample = latest();
        return sample == null || isOld(sample) ? null : sample.value();
    }

    /** The last that was read, however old; null if nothing ever was. */
    @Nullable
    T last() {
        Sample<T> sample = latest();
        return sample == null ? null : sample.value();
    }

    /**
     * An age in seconds that is never unknown: while the table cannot be read, what waited then gets older, and what
     * came since may be as old as the last sample.
     *
     * @param age what a sample says
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

    /** Answers whether the caller must read now. While an earlier read goes on, each that should have followed has failed. */
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
        AtomicBoolean failed = new AtomicBoolean(); // counted once, be it late or broken or both
        try {
            Thread thread = new Thread(() -> read(ended, failed), "outbox-" + what);
            thread.setDaemon(true);
            thread.start();
        } catch (Throwable e) { // such as no memory for a thread
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
