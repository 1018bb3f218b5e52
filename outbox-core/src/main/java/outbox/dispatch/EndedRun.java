package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventDetails.Attempt;
import outbox.model.EventStatus;
import outbox.spi.Mark;

import java.time.Duration;
import java.time.Instant;

/** A run with its outcome, for the history of attempts. */
record EndedRun(Mark mark, int number, Delivery.Run run) {

    /** Returns null for runs that the history omits: a success at the first attempt, and an event that never ran. */
    static @Nullable EndedRun of(Delivery delivery, Mark mark) {
        if (mark.status() == EventStatus.DONE && delivery.attempt() == 1) {
            return null;
        }
        Delivery.Run run = delivery.run();
        return run == null ? null : new EndedRun(mark, delivery.attempt(), run);
    }

    boolean isDone() {
        return mark.status() == EventStatus.DONE;
    }

    Attempt at(Instant now, String node) {
        Duration ago = Duration.ofNanos(System.nanoTime() - run.startNanos());
        return new Attempt(mark.eventId(), number, now.minus(ago), run.took(), node, isDone() ? null : mark.error());
    }
}
