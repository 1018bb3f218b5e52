package outbox.dispatch;

import outbox.model.EventStatus;
import outbox.spi.Mark;

/**
 * What the marker writes for an event, and what it knows from tries before.
 *
 * @param repeated whether a try before may have been written, though it failed; then it must be the same try again,
 *     under the same claim
 * @param refusals how often the database refused it alone
 * @param writesBefore how many groups the marker had written when it was refused first
 */
record Outcome(What what, boolean repeated, int refusals, long writesBefore) {

    /** What to write. */
    sealed interface What {

        String eventId();

        /** Whether somebody waits for it: for the key, the next attempt, the dead event or the released event. */
        boolean isAwaited();
    }

    /** The outcome of a run. */
    record Marked(Delivery delivery, Mark mark) implements What {

        @Override
        public String eventId() {
            return mark.eventId();
        }

        @Override
        public boolean isAwaited() {
            return mark.status() != EventStatus.DONE || delivery.envelope().dedupKey() != null;
        }
    }

    /** No outcome: the event is as if it had never been claimed. */
    record Released(Release release) implements What {

        @Override
        public String eventId() {
            return release.eventId();
        }

        @Override
        public boolean isAwaited() {
            return true;
        }
    }

    Outcome(What what) {
        this(what, false, 0, 0);
    }

    String eventId() {
        return what.eventId();
    }

    /** The claim may have been replaced since the outcome was decided. */
    Outcome underCurrentClaim() {
        return what instanceof Marked marked && !repeated
                ? with(new Marked(
                        marked.delivery(),
                        marked.mark().withToken(marked.delivery().token())))
                : this;
    }

    /**
     * Whether our own poller has claimed the event anew since this outcome was tried. Then it is still ours to write,
     * unless it is a RETRY that may have been written: the new claim may be that of the next attempt.
     */
    boolean isClaimedAnew() {
        return what instanceof Marked marked
                && !marked.mark().token().equals(marked.delivery().token())
                && !(repeated && marked.mark().status() == EventStatus.RETRY);
    }

    /** The first try under another claim. */
    Outcome firstTry() {
        return new Outcome(what, false, refusals, writesBefore);
    }

    Outcome with(What other) {
        return new Outcome(other, repeated, refusals, writesBefore);
    }

    /** After a try whose outcome is unknown. */
    Outcome again() {
        return new Outcome(what, true, refusals, writesBefore);
    }

    Outcome refused(long writes) {
        return new Outcome(what, repeated, refusals + 1, refusals == 0 ? writes : writesBefore);
    }
}
