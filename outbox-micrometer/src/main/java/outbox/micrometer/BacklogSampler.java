package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;
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

/**
 * Reads the backlog when a scrape asks for it, so a node that nobody scrapes asks nothing of the database.
 *
 * <p>A sample is read on a thread of its own that ends with it, one at a time. The scrape that started it waits for a while; everybody else takes the last sample. Whatever happens to the
 * database, a scrape is answered: a sample that is too old counts as unknown.
 */
final class BacklogSampler {

    private static final Logger LOG = SafeLogger.of(BacklogSampler.class);
    private static final Duration SHORTEST_KEEP = Duration.ofMinutes(1);

    private final String table;
    private final Supplier<Backlog> source;
    private final long everyNanos;
    private final long timeoutNanos;
    private final long keepNanos;
    private final Counter failures;
    private final LongSupplier nanoClock;
    private volatile @Nullable Sample last; // the thread of the sample writes, scrapes read
    private boolean running; // guarded by this, as the next
    private long nextNanos;

    private record Sample(Backlog backlog, long nanos) {}

    BacklogSampler(
            String table,
            Supplier<Backlog> source,
            Duration every,
            Duration timeout,
            Counter failures,
            LongSupplier nanoClock) {
        this.table = table;
        this.source = source;
        this.everyNanos = every.toNanos();
        this.timeoutNanos = timeout.toNanos();
        this.keepNanos = Math.max(SHORTEST_KEEP.toNanos(), 6 * everyNanos);
        this.failures = failures;
        this.nanoClock = nanoClock;
        this.nextNanos = nanoClock.getAsLong();
    }

    /** Null if it is not known: never read, or not for a while. */
    @Nullable
    Backlog current() {
        if (isDue()) {
            read();
        }
        Sample sample = last;
        return sample == null || nanoClock.getAsLong() - sample.nanos() > keepNanos ? null : sample.backlog();
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
            Thread thread = new Thread(() -> read(ended, failed), "outbox-" + table + "-backlog");
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
            last = new Sample(Objects.requireNonNull(source.get(), "backlog"), nanoClock.getAsLong());
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
            LOG.log(
                    Level.DEBUG,
                    "The backlog of table " + table + (why == null ? " was not read in time" : " cannot be read"),
                    why);
        }
    }
}
