package outbox.dispatch;

import outbox.admin.Pause;
import outbox.internal.QuietLog;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Reads what is paused, every second, and where there is no table for it, looks for one every minute. What cannot be read stays as it was. Called by one thread at a time. */
final class PauseWatch {

    private static final Logger LOG = System.getLogger(PauseWatch.class.getName());
    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final Duration EVERY_WITHOUT_TABLE = Duration.ofMinutes(1);

    private final ClaimedStore store;
    private final Admission admission;
    private final QuietLog trouble = new QuietLog(LOG);
    private long nextNanos; // the keeper's, after the dispatcher was built

    PauseWatch(ClaimedStore store, Admission admission) {
        this.store = store;
        this.admission = admission;
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
            pause = pauses.isPresent() ? EVERY : EVERY_WITHOUT_TABLE;
        } catch (RuntimeException | Error e) { // a driver of another version must not stop the keeper
            trouble.log(Level.WARNING, "Cannot read what is paused; trying again", e);
        }
        nextNanos = System.nanoTime() + pause.toNanos();
    }
}
