package outbox.cli;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/**
 * Whether the database answers. It is asked on one thread, one question at a time; whoever wants to know waits for it together with the others, and no longer than the limit after it was asked:
 * silence is a no. An answer is kept for a moment. Thread-safe.
 */
final class Liveness implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final Duration KEEP = Duration.ofSeconds(1);

    private final BooleanSupplier question;
    private final long limitNanos;
    private final long keepNanos;
    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread daemon = new Thread(task, "outbox-relay-liveness");
        daemon.setDaemon(true);
        return daemon;
    });
    private @Nullable CompletableFuture<Boolean> last; // guarded by this, as the next
    private long askedNanos;

    Liveness(BooleanSupplier question) {
        this(question, LIMIT, KEEP);
    }

    Liveness(BooleanSupplier question, Duration limit, Duration keep) {
        this.question = question;
        this.limitNanos = limit.toNanos();
        this.keepNanos = keep.toNanos();
    }

    boolean isThere() {
        try {
            CompletableFuture<Boolean> answer;
            long left;
            synchronized (this) {
                answer = answer(System.nanoTime());
                left = Math.max(0, limitNanos - (System.nanoTime() - askedNanos));
            }
            return answer.get(left, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (ExecutionException | TimeoutException | RejectedExecutionException e) { // the last one: closed
            return false;
        }
    }

    /** The last one, unless it is old; one that is still awaited is not asked for again. */
    private CompletableFuture<Boolean> answer(long now) {
        CompletableFuture<Boolean> known = last;
        if (known != null && (!known.isDone() || now - askedNanos < keepNanos)) {
            return known;
        }
        CompletableFuture<Boolean> asked = CompletableFuture.supplyAsync(question::getAsBoolean, thread);
        last = asked;
        askedNanos = now;
        return asked;
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
