package outbox.dispatch;

import outbox.internal.QuietLog;
import outbox.internal.SqlErrors;
import outbox.spi.Mark;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Writes the outcomes of one dispatcher. Workers hand them over and go on; one thread writes whatever has gathered since its last commit in one transaction, so at low load an
 * outcome is written at once and at high load hundreds share a commit. Under load it waits a little for more.
 *
 * <p>A write that fails is repeated, with growing pauses, until it succeeds or the dispatcher closes: it never counts as an attempt of the event. Outcomes are fenced by their
 * claim, so a repetition, or one that comes after the lease has ended, can do no harm.
 *
 * <p>One outcome delays no other (ADR 48). If a row of the group is locked by another transaction, the group is written
 * without it. If the database refuses the group, it is written in parts until the refused outcomes are found. Both are
 * set aside, each with a pause of its own, and their leases are kept. An error text that cannot be stored is replaced;
 * no other failure changes an outcome.
 *
 * <p>Where a leader delivers alone, a mark waits while it is in doubt who leads, and becomes a release once leadership was lost: the next leader decides.
 *
 * <p>What is handed over after the close, such as the event of a transaction that was still open then, is written by a thread of its own that ends with it.
 *
 * <p>The queue of outcomes needs no bound of its own: each entry is an event that the dispatcher accepted, and it accepts none while {@link #isBehind()}.
 */
final class Marker implements Runnable {

    /** Told when an outcome is in the database, or was found to be no longer ours to write. What it throws is logged, no more. */
    interface Listener {
        void marked(Delivery delivery, Mark mark, Written written);

        /** Leadership was lost before the outcome of the delivery could be written. */
        void overtaken(Delivery delivery);

        void released(Release release);

        /** The outcome of the delivery waits alone, perhaps for long; it may be told several times. */
        void setAside(Delivery delivery);

        void markFailed();
    }

    /** What became of an outcome. */
    enum Written {
        YES,
        /** Its claim was not found; but a try before may have written it, and then its claim ended with that. */
        PROBABLY,
        /** Its claim was lost. */
        NO
    }

    private static final Logger LOG = SafeLogger.of(Marker.class);
    private static final int MAX_GROUP = 1000;
    private static final int MAX_BACKLOG = 10_000;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
    private static final Duration LONGEST_LOOK = Duration.ofMillis(100);
    private static final Duration LINGER =
            Duration.ofMillis(5); // under load a commit for more events costs less than two
    private static final int LINGERS = 10; // at most, while the group is small and grows
    private static final int SMALL_GROUP = 100;
    private static final Duration LOCKED_PAUSE = Duration.ofMillis(100);
    private static final int MAX_REFUSALS = 8; // until a person is called
    private static final Duration REFUSED_PAUSE = Duration.ofMinutes(1); // from then on
    private static final int MAX_SEARCH = 30; // refusals in a row after which nothing at all can be written
    private static final Duration LATE_PATIENCE = Duration.ofSeconds(5);
    private static final String REPLACEMENT_ERROR = "The error text could not be stored; see the log of the node";

    private final LinkedBlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
    private final SetAside<Outcome> aside = new SetAside<>();
    private final ClaimedStore store;
    private final Listener listener;
    private final Term term;
    private final ThreadFactory threads;
    private final int lingers;
    private final QuietLog trouble = new QuietLog(LOG);
    private final QuietLog refused = new QuietLog(LOG);
    private final QuietLog locked = new QuietLog(LOG);
    private final QuietLog untold = new QuietLog(LOG);
    private final QuietLog overtaken = new QuietLog(LOG);
    private final CountDownLatch ended = new CountDownLatch(1);
    private boolean running; // guarded by this: whether a thread looks after the outcomes
    private volatile boolean closing;
    private volatile long deadlineNanos; // once closing, the thread gives up after it
    private volatile boolean gaveUp; // the running thread writes: something could not be written in time
    private volatile boolean
            hurried; // who adds an outcome sets it, the running thread clears it: somebody waits for one
    private Duration pause = FIRST_PAUSE; // of the running thread
    private boolean busy; // of the running thread: the last group had company
    private long writes; // of the running thread: groups written so far

    /** @param awaited whether events wait for the outcomes of others, as they do in order */
    Marker(ClaimedStore store, Listener listener, Term term, ThreadFactory threads, boolean awaited) {
        this.store = store;
        this.listener = listener;
        this.term = term;
        this.threads = threads;
        this.lingers = awaited ? 1 : LINGERS;
    }

    synchronized void start() {
        running = true;
        threads.newThread(this).start();
    }

    /** Takes over the outcome of a run; no effect if the run was settled before. */
    void settle(Delivery delivery, Mark mark) {
        Outcome outcome = new Outcome(new Outcome.Marked(delivery, mark)); // before: there may be no memory for it
        if (delivery.settle()) {
            add(outcome);
        }
    }

    void release(Release release) {
        add(new Outcome(new Outcome.Released(release)));
    }

    private synchronized void add(Outcome outcome) {
        outcomes.add(outcome);
        if (outcome.what().isAwaited()) {
            hurried = true;
        }
        if (!running) { // it comes after the close
            deadlineNanos = System.nanoTime() + LATE_PATIENCE.toNanos();
            start();
        }
    }

    /** Whether so many outcomes wait that no more events should be accepted. */
    boolean isBehind() {
        return outcomes.size() + aside.size() >= MAX_BACKLOG;
    }

    /** Ends after everything handed over so far is written, at the latest after the given time; false if something remained. */
    boolean close(Duration patience) throws InterruptedException {
        deadlineNanos = System.nanoTime() + patience.toNanos();
        closing = true;
        return ended.await(patience.toNanos(), TimeUnit.NANOSECONDS) && !gaveUp;
    }

    @Override
    public void run() {
        try {
            while (!isOver()) {
                writeNext();
            }
        } finally {
            ended.countDown();
        }
    }

    /** Whatever fails here, the marker goes on and its outcomes stay: nobody else would write them. */
    private void writeNext() {
        List<Outcome> group = new ArrayList<>();
        try {
            gather(group);
            if (!group.isEmpty()) {
                write(group);
                group.clear();
            }
            aside.moveTo(group, MAX_GROUP, closing);
            writeAside(group);
        } catch (Throwable e) {
            outcomes.addAll(group); // one that was written all the same changes nothing: its claim is over
            trouble.log(Level.ERROR, "The marker failed; it goes on", e);
            pauseLonger();
        }
    }

    private synchronized boolean isOver() {
        boolean empty = outcomes.isEmpty() && aside.size() == 0;
        if (closing && (empty || isOverdue())) {
            gaveUp |= !empty; // their events are delivered again after their lease
            outcomes.clear();
            aside.clear();
            running = false;
        }
        return !running;
    }

    private boolean isOverdue() {
        return closing && System.nanoTime() - deadlineNanos > 0;
    }

    private void gather(List<Outcome> group) {
        try {
            long wait = aside.untilNext(LONGEST_LOOK).toNanos();
            Outcome first = outcomes.poll(wait, TimeUnit.NANOSECONDS); // looks up now and then to see a close
            if (first != null) {
                group.add(first);
                if (busy) {
                    linger();
                }
                hurried = false;
                outcomes.drainTo(group, MAX_GROUP - 1);
            }
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: the marker ends by close, with its outcomes written", e);
        }
        busy = group.size() > 1;
    }

    private void linger() {
        int times = 0;
        int before;
        do {
            before = outcomes.size();
            long end = System.nanoTime() + LINGER.toNanos();
            for (long left = LINGER.toNanos(); left > 0 && !closing; left = end - System.nanoTime()) {
                LockSupport.parkNanos(left); // may end early, by what woke the queue
            }
        } while (++times < lingers && isSmallAndGrows(before) && !hurried && !closing);
    }

    private boolean isSmallAndGrows(int before) {
        int size = outcomes.size();
        return size < SMALL_GROUP && size > before;
    }

    /** Writes the group, however often that takes, unless the time to close is over. */
    private void write(List<Outcome> group) {
        boolean passLocked = false; // the first try is the cheapest
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
                    continue; // at once: this try does not wait
                }
                passLocked = false;
                tell(listener::markFailed);
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

    /** Tries again those whose pause is over. They never make others wait: a row that is locked is passed over. */
    private void writeAside(List<Outcome> group) {
        List<Outcome> tried = current(group);
        if (tried.isEmpty()) {
            return;
        }
        if (isInDoubt(tried)) {
            tried.forEach(outcome -> setAside(outcome, LOCKED_PAUSE));
            return;
        }
        try {
            writeGroup(tried, true);
        } catch (RuntimeException | Error e) {
            tell(listener::markFailed);
            if (SqlErrors.isRefusal(e)) {
                writeParts(tried, e);
            } else {
                waitAside(tried, e);
                lengthenPause();
            }
        }
    }

    /** The outcomes as they are to be written now. */
    private List<Outcome> current(List<Outcome> group) {
        List<Outcome> left = term.isUsed() ? withoutMarksThatAreOver(group) : group;
        return left.stream().map(Outcome::underCurrentClaim).toList();
    }

    /** The database is in trouble, not these outcomes. */
    private void waitAside(List<Outcome> group, Throwable e) {
        trouble.log(Level.ERROR, "Cannot write " + group.size() + " outcomes; trying again, no attempt is lost", e);
        boolean unknown = SqlErrors.isOutcomeUnknown(e);
        group.forEach(outcome -> setAside(unknown ? outcome.again() : outcome, pause));
    }

    /** Whether marks must wait because it is not certain that this node leads. A release is always allowed. */
    private boolean isInDoubt(List<Outcome> group) {
        return term.isUsed()
                && group.stream()
                        .anyMatch(
                                one -> one.what() instanceof Outcome.Marked marked && !term.covers(marked.delivery()));
    }

    /**
     * Takes out what ran under a leadership that was lost. It is released instead of marked: another leader may have
     * delivered it since.
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

    /** Finds the outcomes of a refused group that the database refuses alone, and writes the others. */
    private void writeParts(List<Outcome> group, Throwable refusal) {
        long before = writes;
        int refusals = 0;
        Deque<List<Outcome>> parts = new ArrayDeque<>(List.of(group));
        Throwable last = refusal;
        boolean known = true; // that the first part is refused
        while (!parts.isEmpty()) {
            List<Outcome> part = parts.pop();
            try {
                if (refusals >= MAX_SEARCH && writes == before) {
                    waitAside(part, last); // all of them are refused: it is not about one
                    continue;
                }
                if (!known) {
                    writeGroup(part, true);
                    continue;
                }
            } catch (RuntimeException | Error e) {
                if (!SqlErrors.isRefusal(e)) {
                    waitAside(part, e);
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
     * The database refuses this outcome. An error text that cannot be stored is replaced by a harmless one, and at
     * last by none. Anything else is tried again later, less and less often, for
     * as long as this node lives: its lease is kept, so that nobody delivers the event again, and it is written as
     * soon as the cause is gone.
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
            gaveUp = true; // its event is delivered again after its lease
            return;
        }
        Outcome again = outcome.refused(writes);
        boolean forGood = again.refusals() >= MAX_REFUSALS && writes > again.writesBefore(); // others are written
        setAside(again, forGood ? REFUSED_PAUSE : pauseAfter(again.refusals()));
        if (forGood) {
            refused.log(
                    Level.ERROR,
                    "The database refuses the outcome of event " + outcome.eventId() + " for good and writes others; "
                            + aside.size() + " outcomes wait. This node keeps the event and does not run it again."
                            + " Remove the trigger, policy or constraint that refuses it: it is tried once a minute",
                    e);
        } else {
            trouble.log(
                    Level.ERROR,
                    "Cannot write the outcome of event " + outcome.eventId() + "; trying again, no attempt is lost",
                    e);
        }
    }

    private void setAside(Outcome outcome, Duration wait) {
        aside.add(outcome, wait);
        if (outcome.what() instanceof Outcome.Marked marked) {
            tell(() -> listener.setAside(marked.delivery()));
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

    /** Writes a group in one transaction; those whose rows are locked are set aside, if they are to be passed over. */
    private void writeGroup(List<Outcome> group, boolean passLocked) {
        List<Mark> marks = new ArrayList<>();
        List<Release> releases = new ArrayList<>();
        Set<String> keepKey = new HashSet<>();
        List<EndedRun> history = new ArrayList<>();
        for (Outcome outcome : group) {
            if (outcome.what() instanceof Outcome.Released released) {
                releases.add(released.release());
            } else if (outcome.what() instanceof Outcome.Marked marked) {
                marks.add(marked.mark());
                EndedRun run = EndedRun.of(marked.delivery(), marked.mark());
                if (run != null) {
                    history.add(run);
                }
                if (marked.delivery().envelope().dedupFor() != null) {
                    keepKey.add(marked.eventId());
                }
            }
        }
        ClaimedStore.Written written = store.write(marks, releases, keepKey, history, passLocked);
        pause = FIRST_PAUSE;
        writes += written.locked().size() < group.size() ? 1 : 0;
        for (Outcome outcome : group) {
            if (written.locked().contains(outcome.eventId())) {
                setAside(outcome, LOCKED_PAUSE);
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

    /** What a report throws must neither repeat a write that has succeeded nor keep others from being told. */
    private void tell(Runnable report) {
        try {
            report.run();
        } catch (Throwable e) {
            untold.log(Level.ERROR, "What follows the writing of an outcome failed; the marker goes on", e);
        }
    }
}
