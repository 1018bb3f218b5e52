package outbox.dispatch;

import outbox.admin.Pause;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Reads the pauses every second. If there is no table for pauses, checks every minute whether one exists. If the
 * read fails, the last known pauses stay in effect. Before the first successful read, everything is paused: a node
 * that starts while the database is down must not deliver events that an operator has paused. Called by one thread
 * at a time.
 */
final class PauseWatch {

    private static final Logger LOG = SafeLogger.of(PauseWatch.class);
    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final Duration EVERY_WITHOUT_TABLE = Duration.ofMinutes(1);

    private final ClaimedStore store;
    private final Admission admission;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private long nextNanos; // the building thread writes it first, then only the keeper thread uses it
    // whether one read succeeded; the building thread writes it first, then only the keeper thread uses it
    private boolean known;

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
