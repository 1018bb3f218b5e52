package outbox.dispatch;

import outbox.internal.Loop;
import outbox.internal.SqlErrors;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;

/**
 * Writes the outcomes of one dispatcher. Workers pass outcomes to it and continue. One thread, the marker thread,
 * writes all outcomes that arrived since its last commit in one transaction. So at low load an outcome is written at
 * once, and at high load hundreds share a commit. Under load the thread waits a little for more outcomes.
 *
 * <p>A failed write is repeated with growing pauses until it succeeds or the dispatcher closes. It never counts as
 * an attempt of the event. Each write names the claim token, so a repeated write, or a write after the lease has
 * expired, does no harm.
 *
 * <p>One outcome delays no other (ADR 48). If another transaction has locked a row of the group, the group is
 * written without it. If the database refuses the group, it is written in parts until the refused outcomes are
 * found. Both kinds are postponed, each outcome with its own pause, and their leases are kept. An error text that
 * cannot be stored is replaced. No other failure changes an outcome.
 *
 * <p>If only a leader delivers, a mark waits while it is uncertain which node leads. After a loss of leadership, the
 * mark becomes a release, and the next leader decides.
 *
 * <p>An outcome may arrive after the close, for example for an event of a transaction that was still open. A new
 * thread writes it and then ends.
 */
final class OutcomeWriter implements Loop.Step {

    /** Called when an outcome is in the database, or when its claim was not found. Exceptions are only logged. */
    interface Listener {
        void marked(Delivery delivery, Mark mark, Written written);

        /** Leadership was lost before the outcome of the delivery could be written. */
        void overtaken(Delivery delivery);

        void released(Release release);

        /** The outcome of the delivery is postponed, perhaps for a long time. May be called several times. */
        void postponed(Delivery delivery);

        void markFailed(Throwable why);
    }

    /** The result of writing an outcome. */
    enum Written {
        YES,
        /** The claim was not found, but an earlier try may have written the outcome and so ended the claim. */
        PROBABLY,
        /** The claim was lost. */
        NO
    }

    private static final Logger LOG = SafeLogger.of(OutcomeWriter.class);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
    private static final Duration LOCKED_PAUSE = Duration.ofMillis(100);
    private static final int MAX_REFUSALS = 8; // after this number an operator is alerted by the log
    private static final Duration REFUSED_PAUSE = Duration.ofMinutes(1); // pause from then on
    private static final int MAX_SEARCH = 30; // successive refusals after which no outcome at all can be written
    private static final Duration LATE_PATIENCE = Duration.ofSeconds(5);
    private static final String REPLACEMENT_ERROR = "The error text could not be stored; see the log of the node";

    private final OutcomeQueue outcomes;
    private final ClaimedStore store;
    private final Listener listener;
    private final LeadershipFence term;
    private final Loop loop;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final ThrottledLog refused = new ThrottledLog(LOG);
    private final ThrottledLog locked = new ThrottledLog(LOG);
    private final ThrottledLog untold = new ThrottledLog(LOG);
    private final ThrottledLog overtaken = new ThrottledLog(LOG);
    private volatile boolean closing;
    private volatile long deadlineNanos; // once closing, the thread stops trying after this time
    private volatile boolean gaveUp; // an outcome could not be written in time; the running thread writes it
    private Duration pause = FIRST_PAUSE; // used by the running thread only
    private long writes; // number of groups written so far; used by the running thread only

    /** @param awaited whether events wait for the outcomes of other events, as with ordered delivery */
    OutcomeWriter(ClaimedStore store, Listener listener, LeadershipFence term, ThreadFactory threads, boolean awaited) {
        this.store = store;
        this.listener = listener;
        this.term = term;
        this.loop = new Loop("marker", threads, this);
        this.outcomes = new OutcomeQueue(awaited);
    }

    void start() {
        loop.start();
    }

    /** Ends the delivery with this outcome. No effect if it has ended. */
    void mark(Delivery delivery, Mark mark) {
        // create the outcome before end(), because the allocation may fail
        Outcome outcome = new Outcome(new Outcome.Marked(delivery, mark));
        if (delivery.end()) {
            add(outcome);
        }
    }

    void release(Release release) {
        add(new Outcome(new Outcome.Released(release)));
    }

    private synchronized void add(Outcome outcome) {
        boolean first = outcomes.add(outcome);
        if (closing && !loop.isStarted()) { // it arrives after the close
            deadlineNanos = System.nanoTime() + LATE_PATIENCE.toNanos();
            loop.start();
        } else if (first) {
            loop.signal();
        }
    }

    /** Whether too many outcomes wait to accept more events. */
    boolean isBehind() {
        return outcomes.isFull();
    }

    /**
     * Closes the writer after all outcomes passed so far are written, or after the given time. Returns false if an
     * outcome was not written.
     */
    boolean close(Duration patience) throws InterruptedException {
        deadlineNanos = System.nanoTime() + patience.toNanos();
        closing = true;
        outcomes.close();
        loop.wake();
        return loop.awaitEnd(patience) && !gaveUp;
    }

    /**
     * Writes the waiting outcomes. If anything fails, the outcomes are kept, because no other thread
     * would write them.
     */
    @Override
    public void run() {
        List<Outcome> group = new ArrayList<>();
        try {
            outcomes.gather(group);
            if (!group.isEmpty()) {
                write(group);
                group.clear();
            }
            outcomes.gatherPostponed(group);
            writePostponed(group);
        } catch (Throwable e) {
            // if an outcome was written nevertheless, writing it again has no effect, because its claim has ended
            outcomes.addAll(group);
            trouble.log(Level.ERROR, "The marker failed; it goes on", e);
            pauseLonger();
        }
        stopIfOver();
    }

    @Override
    public long pauseNanos() {
        return closing && outcomes.isEmpty() ? 0 : outcomes.untilNextNanos();
    }

    private synchronized void stopIfOver() {
        boolean empty = outcomes.isEmpty();
        if (closing && (empty || isOverdue())) {
            gaveUp |= !empty; // their events are delivered again after their lease expires
            outcomes.clear();
            loop.stop();
        }
    }

    private boolean isOverdue() {
        return closing && System.nanoTime() - deadlineNanos > 0;
    }

    /** Writes the group and repeats failed writes until the time to close is over. */
    private void write(List<Outcome> group) {
        boolean passLocked = false; // the first try uses the fewest statements
        List<Outcome> tried = group;
        do {
            tried = current(tried);
            if (tried.isEmpty()) {
                return;
            }
            if (isInDoubt(tried)) {
                LockSupport.parkNanos(FIRST_PAUSE.toNanos());
                continue;
            }
            try {
                writeGroup(tried, passLocked);
                return;
            } catch (RuntimeException | Error e) {
                if (!passLocked && SqlErrors.isLocked(e)) {
                    passLocked = true;
                    continue; // repeat at once, because this try does not wait for locks
                }
                passLocked = false;
                tell(() -> listener.markFailed(e));
                if (SqlErrors.isRefusal(e)) {
                    writeParts(tried, e);
                    return;
                }
                if (SqlErrors.isOutcomeUnknown(e)) {
                    tried = tried.stream().map(Outcome::again).toList();
                }
                trouble.log(
                        Level.ERROR, "Cannot write " + tried.size() + " outcomes; trying again, no attempt is lost", e);
            }
            pauseLonger();
        } while (!isOverdue());
        gaveUp = true;
    }

    /**
     * Tries again to write postponed outcomes whose pause is over. They never delay others, because locked
     * rows are skipped.
     */
    private void writePostponed(List<Outcome> group) {
        List<Outcome> tried = current(group);
        if (tried.isEmpty()) {
            return;
        }
        if (isInDoubt(tried)) {
            tried.forEach(outcome -> postpone(outcome, LOCKED_PAUSE));
            return;
        }
        try {
            writeGroup(tried, true);
        } catch (RuntimeException | Error e) {
            tell(() -> listener.markFailed(e));
            if (SqlErrors.isRefusal(e)) {
                writeParts(tried, e);
            } else {
                postponeAll(tried, e);
                lengthenPause();
            }
        }
    }

    /** Returns the outcomes that can still be written, with their current tokens. */
    private List<Outcome> current(List<Outcome> group) {
        List<Outcome> left = term.isUsed() ? withoutMarksThatAreOver(group) : group;
        return left.stream().map(Outcome::underCurrentClaim).toList();
    }

    /** Postpones all outcomes of the group, because the database caused the failure and not a single outcome. */
    private void postponeAll(List<Outcome> group, Throwable e) {
        trouble.log(Level.ERROR, "Cannot write " + group.size() + " outcomes; trying again, no attempt is lost", e);
        boolean unknown = SqlErrors.isOutcomeUnknown(e);
        group.forEach(outcome -> postpone(unknown ? outcome.again() : outcome, pause));
    }

    /** Whether marks must wait because it is uncertain whether this node leads. A release is always allowed. */
    private boolean isInDoubt(List<Outcome> group) {
        return term.isUsed()
                && group.stream()
                        .anyMatch(
                                one -> one.what() instanceof Outcome.Marked marked && !term.covers(marked.delivery()));
    }

    /**
     * Removes events that ran under a lost leadership. They are released instead of marked, because another leader
     * may have delivered them since.
     */
    private List<Outcome> withoutMarksThatAreOver(List<Outcome> group) {
        List<Outcome> left = new ArrayList<>();
        for (Outcome outcome : group) {
            if (outcome.what() instanceof Outcome.Marked marked && term.isOver(marked.delivery())) {
                overtaken.log(
                        Level.WARNING,
                        "Leadership was lost before the outcome "
                                + marked.mark().status() + " of event " + marked.eventId()
                                + " could be written; the next leader decides, so it may be delivered again",
                        null);
                tell(() -> listener.overtaken(marked.delivery()));
            } else {
                left.add(outcome);
            }
        }
        return left;
    }

    /** Finds the outcomes of a refused group that the database refuses even alone, and writes the others. */
    private void writeParts(List<Outcome> group, Throwable refusal) {
        long before = writes;
        int refusals = 0;
        Deque<List<Outcome>> parts = new ArrayDeque<>(List.of(group));
        Throwable last = refusal;
        boolean known = true; // whether the first part is known to be refused
        while (!parts.isEmpty()) {
            List<Outcome> part = parts.pop();
            try {
                if (refusals >= MAX_SEARCH && writes == before) {
                    postponeAll(part, last); // all parts are refused, so a single outcome is not the cause
                    continue;
                }
                if (!known) {
                    writeGroup(part, true);
                    continue;
                }
            } catch (RuntimeException | Error e) {
                if (!SqlErrors.isRefusal(e)) {
                    postponeAll(part, e);
                    continue;
                }
                last = e;
            }
            known = false;
            refusals++;
            if (part.size() == 1) {
                refused(part.get(0), last);
            } else {
                parts.push(part.subList(part.size() / 2, part.size()));
                parts.push(part.subList(0, part.size() / 2));
            }
        }
        if (writes == before) {
            lengthenPause();
        }
    }

    /**
     * Handles an outcome that the database refuses. An error text that cannot be stored is replaced by a constant
     * text, and if that fails, by an empty one. Any other outcome is tried again with growing pauses as long as this
     * node runs. Its lease is kept, so that no other node delivers the event again. It is written as soon as the
     * cause is removed.
     */
    private void refused(Outcome outcome, Throwable e) {
        if (outcome.what() instanceof Outcome.Marked marked
                && !marked.mark().error().isEmpty()
                && SqlErrors.isDataError(e)) {
            Mark mark = marked.mark();
            refused.log(
                    Level.ERROR,
                    "The database cannot store the error text of event " + mark.eventId()
                            + "; the outcome is written without it: " + mark.error(),
                    e);
            String harmless = mark.error().equals(REPLACEMENT_ERROR) ? "" : REPLACEMENT_ERROR;
            outcomes.add(outcome.with(new Outcome.Marked(marked.delivery(), mark.withError(harmless))));
            return;
        }
        if (closing) {
            gaveUp = true; // its event is delivered again after its lease expires
            return;
        }
        Outcome again = outcome.refused(writes);
        // the second condition: other outcomes were written since the first refusal
        boolean forGood = again.refusals() >= MAX_REFUSALS && writes > again.writesBefore();
        postpone(again, forGood ? REFUSED_PAUSE : pauseAfter(again.refusals()));
        if (forGood) {
            refused.log(
                    Level.ERROR,
                    "The database refuses the outcome of event " + outcome.eventId() + " for good and writes others; "
                            + outcomes.postponed()
                            + " outcomes wait. This node keeps the event and does not run it again."
                            + " Remove the trigger, policy or constraint that refuses it: it is tried once a minute",
                    e);
        } else {
            trouble.log(
                    Level.ERROR,
                    "Cannot write the outcome of event " + outcome.eventId() + "; trying again, no attempt is lost",
                    e);
        }
    }

    private void postpone(Outcome outcome, Duration wait) {
        outcomes.postpone(outcome, wait);
        if (outcome.what() instanceof Outcome.Marked marked) {
            tell(() -> listener.postponed(marked.delivery()));
        }
    }

    private static Duration pauseAfter(int refusals) {
        Duration doubled = FIRST_PAUSE.multipliedBy(1L << Math.min(refusals, 10));
        return doubled.compareTo(LONGEST_PAUSE) < 0 ? doubled : LONGEST_PAUSE;
    }

    private void pauseLonger() {
        LockSupport.parkNanos(closing ? FIRST_PAUSE.toNanos() : pause.toNanos());
        lengthenPause();
    }

    private void lengthenPause() {
        Duration longer = pause.multipliedBy(2);
        pause = longer.compareTo(LONGEST_PAUSE) < 0 ? longer : LONGEST_PAUSE;
    }

    /**
     * Writes a group in one transaction. If {@code passLocked} is set, outcomes whose rows are locked are postponed.
     */
    private void writeGroup(List<Outcome> group, boolean passLocked) {
        ClaimedStore.Written written = store.write(OutcomeGroup.of(group), passLocked);
        pause = FIRST_PAUSE;
        writes += written.locked().size() < group.size() ? 1 : 0;
        for (Outcome outcome : group) {
            if (written.locked().contains(outcome.eventId())) {
                postpone(outcome, LOCKED_PAUSE);
                locked.log(
                        Level.WARNING,
                        "The row of event " + outcome.eventId()
                                + " is locked by another session; its outcome is written once the lock is gone",
                        null);
            } else if (!written.ours().contains(outcome.eventId()) && outcome.isClaimedAnew()) {
                outcomes.add(outcome.firstTry());
            } else {
                tell(() -> report(outcome, written.ours().contains(outcome.eventId())));
            }
        }
    }

    private void report(Outcome outcome, boolean ours) {
        if (outcome.what() instanceof Outcome.Marked marked) {
            Written notFound = outcome.repeated() ? Written.PROBABLY : Written.NO;
            listener.marked(marked.delivery(), marked.mark(), ours ? Written.YES : notFound);
        } else if (outcome.what() instanceof Outcome.Released released) {
            listener.released(released.release());
        }
    }

    /**
     * Runs a report. If it throws, a write that succeeded must not be repeated, and the other reports
     * must still run.
     */
    private void tell(Runnable report) {
        try {
            report.run();
        } catch (Throwable e) {
            untold.log(Level.ERROR, "What follows the writing of an outcome failed; the marker goes on", e);
        }
    }
}
