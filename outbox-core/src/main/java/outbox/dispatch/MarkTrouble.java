package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.ErrorLine;
import outbox.internal.Scheduler;

import java.time.Duration;

/** How long writing outcomes has been failing, and why. Thread-safe. */
final class MarkTrouble {

    private final Scheduler scheduler;
    private @Nullable Long sinceNanos; // guarded by this
    private @Nullable String error; // error of the last write; guarded by this

    MarkTrouble(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    synchronized void begin(Throwable why) {
        error = ErrorLine.of(why);
        if (sinceNanos == null) {
            sinceNanos = scheduler.nanoTime();
        }
    }

    synchronized void end() {
        sinceNanos = null;
        error = null;
    }

    /** Returns null if the last write succeeded. */
    synchronized @Nullable String error() {
        return error;
    }

    /** Returns null if the last write succeeded. */
    synchronized @Nullable Duration lasts() {
        return sinceNanos == null ? null : Duration.ofNanos(scheduler.nanoTime() - sinceNanos);
    }
}
