package outbox.dispatch;

import outbox.admin.Pause;
import outbox.internal.QuietLog;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Reads what is paused, every second, and where there is no table for it, looks for one every minute. What cannot be read stays as it was, and until it was read once, everything is paused: a
 * node that is started while the database is away must not deliver what an operator has stopped. Called by one thread at a time.
 */
final class PauseWatch {

    private static final Logger LOG = SafeLogger.of(PauseWatch.class);
    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final Duration EVERY_WITHOUT_TABLE = Duration.ofMinutes(1);

    private final ClaimedStore store;
    private final Admission admission;
    private final QuietLog trouble = new QuietLog(LOG);
    private long nextNanos; // the keeper's, after the dispatcher was built, as the next
    private boolean known; // it was read once

    PauseWatch(ClaimedStore store, Admission admission) {
        this.store = store;
        this.admission = admission;
        admission.paused(Paused.UNKNOWN);
    }

    void readIfDue() {
        if (nextNanos - System.nanoTime() <= 0) {
            read();
        }
    }

    void read() {
        Duration pause = EVERY;
        try {
            Optional<List<Pause>> pauses = store.pauses();
            admission.paused(pauses.map(Paused::of).orElse(Paused.NOTHING));
            known = true;
            pause = pauses.isPresent() ? EVERY : EVERY_WITHOUT_TABLE;
        } catch (RuntimeException | Error e) { // a driver of another version must not stop the keeper
            trouble.log(
                    Level.WARNING,
                    "Cannot read what is paused; trying again"
                            + (known ? "" : ". Nothing is delivered before it is known"),
                    e);
        }
        nextNanos = System.nanoTime() + pause.toNanos();
    }
}
