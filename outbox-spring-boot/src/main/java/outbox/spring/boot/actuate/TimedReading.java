package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * A cached value that is read from a database, for callers that ask often. Only one read runs at a time, on
 * a thread that ends with the read. A caller gets a result within the time limit, even if the database does
 * not respond. Thread-safe.
 */
final class TimedReading<T> {

    /** The value, or the reason why there is none. */
    record Answer<T>(@Nullable T value, @Nullable String failure) {}

    private final String what;
    private final Supplier<T> source;
    private final long keepNanos;
    private final Duration timeout;
    private @Nullable Run<T> latest; // guarded by this
    private volatile @Nullable T last; // written by the reading thread, read by any thread

    TimedReading(String what, Supplier<T> source, Duration keep, Duration timeout) {
        this.what = what;
        this.source = source;
        this.keepNanos = keep.toNanos();
        this.timeout = timeout;
    }

    Answer<T> get() {
        Run<T> run = current();
        long left = Math.max(0, timeout.toNanos() - (System.nanoTime() - run.startNanos));
        try {
            return new Answer<>(run.result.get(left, TimeUnit.NANOSECONDS), null);
        } catch (TimeoutException e) {
            return new Answer<>(null, "No answer within " + timeout.toMillis() + " ms");
        } catch (ExecutionException e) {
            return new Answer<>(null, String.valueOf(e.getCause()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Answer<>(null, "Interrupted");
        }
    }

    /**
     * Returns the last value, even if it is old, or null before the first read. Starts the next
     * read without waiting.
     */
    @Nullable
    T last() {
        current();
        return last;
    }

    /**
     * Returns the current read. A new read never starts before the previous one has ended, so that threads do not
     * pile up.
     */
    private synchronized Run<T> current() {
        Run<T> run = latest;
        if (run == null || run.result.isDone() && System.nanoTime() - run.endNanos > keepNanos) {
            run = new Run<>();
            latest = run;
            start(run);
        }
        return run;
    }

    private void start(Run<T> run) {
        try {
            Thread thread = new Thread(() -> read(run), "outbox-" + what);
            thread.setDaemon(true);
            thread.start();
        } catch (Throwable e) { // for example no memory for a thread
            run.fail(e);
        }
    }

    private void read(Run<T> run) {
        try {
            T value = source.get();
            last = value;
            run.end(value);
        } catch (Throwable e) {
            run.fail(e);
        }
    }

    private static final class Run<T> {

        private final CompletableFuture<T> result = new CompletableFuture<>();
        private final long startNanos = System.nanoTime();
        private volatile long endNanos; // written before the result is completed

        void end(T value) {
            endNanos = System.nanoTime();
            result.complete(value);
        }

        void fail(Throwable why) {
            endNanos = System.nanoTime();
            result.completeExceptionally(why);
        }
    }
}
