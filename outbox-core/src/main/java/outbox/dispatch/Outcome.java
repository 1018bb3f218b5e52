package outbox.dispatch;

import outbox.model.EventStatus;
import outbox.spi.Mark;

/**
 * An outcome that the marker writes for an event, with the results of earlier tries.
 *
 * @param repeated whether an earlier try failed but may have been written; then the same try is repeated under
 *     the same claim
 * @param refusals how often the database refused this outcome alone
 * @param writesBefore how many groups the marker had written when this outcome was first refused
 */
record Outcome(What what, boolean repeated, int refusals, long writesBefore) {

    /** What to write. */
    sealed interface What {

        String eventId();

        /**
         * Whether something waits for this write: a deduplication key, the next attempt, or a dead
         * or released event.
         */
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

    /** No outcome: the event becomes as if it had never been claimed. */
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

    /** Returns the outcome with the current token, because the claim may have been replaced since the decision. */
    Outcome underCurrentClaim() {
        return what instanceof Marked marked && !repeated
                ? with(new Marked(
                        marked.delivery(),
                        marked.mark().withToken(marked.delivery().token())))
                : this;
    }

    /**
     * Whether the poller of this dispatcher has claimed the event again since this outcome was tried. Then the
     * outcome can still be written. The exception is a RETRY that may have been written already, because the new
     * claim may belong to the next attempt.
     */
    boolean isClaimedAnew() {
        return what instanceof Marked marked
                && !marked.mark().token().equals(marked.delivery().token())
                && !(repeated && marked.mark().status() == EventStatus.RETRY);
    }

    /** Returns the outcome as a first try under another claim. */
    Outcome firstTry() {
        return new Outcome(what, false, refusals, writesBefore);
    }

    Outcome with(What other) {
        return new Outcome(other, repeated, refusals, writesBefore);
    }

    /** Returns the outcome after a try with an unknown result. */
    Outcome again() {
        return new Outcome(what, true, refusals, writesBefore);
    }

    Outcome refused(long writes) {
        return new Outcome(what, repeated, refusals + 1, refusals == 0 ? writes : writesBefore);
    }
}
