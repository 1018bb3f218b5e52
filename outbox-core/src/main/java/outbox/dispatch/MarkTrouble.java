package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/** Since when no outcome could be written. Thread-safe. */
final class MarkTrouble {

    private @Nullable Long sinceNanos; // guarded by this

    synchronized void begin() {
        if (sinceNanos == null) {
            sinceNanos = System.nanoTime();
        }
    }

    synchronized void end() {
        sinceNanos = null;
    }

    /** Null while there is none. */
    synchronized @Nullable Duration lasts() {
        return sinceNanos == null ? null : Duration.ofNanos(System.nanoTime() - sinceNanos);
    }
}
