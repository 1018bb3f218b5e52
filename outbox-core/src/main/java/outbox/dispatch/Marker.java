package outbox.dispatch;

import outbox.internal.QuietLog;
import outbox.internal.SqlErrors;
import outbox.model.EventStatus;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
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
 * claim, so a repetition, or one that comes after the lease has ended, can do no harm. If the database refuses a group for what is in it (an error text it cannot store), the
 * group is written one by one and the refused text is replaced.
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

    /** What to write for an event. */
    private sealed interface Outcome {

        String eventId();

        /** Whether somebody waits for it: for the key, the next attempt, the dead event or the released event. */
        boolean isAwaited();
    }

    /** The outcome of a run. */
    private record Marked(Delivery delivery, Mark mark) implements Outcome {

        @Override
        public String eventId() {
            return mark.eventId();
        }

        @Override
        public boolean isAwaited() {
            return mark.status() != EventStatus.DONE || delivery.envelope().dedupKey() != null;
        }

        /** The claim may have been replaced since the outcome was decided. */
        Marked underCurrentClaim() {
            return new Marked(delivery, mark.withToken(delivery.token()));
        }
    }

    /** No outcome: the event is as if it had never been claimed. */
    private record Released(Release release) implements Outcome {

        @Override
        public String eventId() {
            return release.eventId();
        }

        @Override
        public boolean isAwaited() {
            return true;
        }
    }

    private static final Logger LOG = System.getLogger(Marker.class.getName());
    private static final int MAX_GROUP = 1000;
    private static final int MAX_BACKLOG = 10_000;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
    private static final Duration LINGER =
            Duration.ofMillis(5); // under load a commit for more events costs less than two
    private static final int LINGERS = 10; // at most, while the group is small and grows
    private static final int SMALL_GROUP = 100;
    private static final Duration LATE_PATIENCE = Duration.ofSeconds(5);
    private static final String REPLACEMENT_ERROR = "The error text could not be stored; see the log of the node";

    private final LinkedBlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
    private final ClaimedStore store;
    private final Listener listener;
    private final Term term;
    private final ThreadFactory threads;
    private final int lingers;
    private final QuietLog trouble = new QuietLog(LOG);
    private final QuietLog refused = new QuietLog(LOG);
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
        if (delivery.settle()) {
            add(new Marked(delivery, mark));
        }
    }

    void release(Release release) {
        add(new Released(release));
    }

    private synchronized void add(Outcome outcome) {
        outcomes.add(outcome);
        if (outcome.isAwaited()) {
            hurried = true;
        }
        if (!running) { // it comes after the close
            deadlineNanos = System.nanoTime() + LATE_PATIENCE.toNanos();
            start();
        }
    }

    /** Whether so many outcomes wait that no more events should be accepted. */
    boolean isBehind() {
        return outcomes.size() >= MAX_BACKLOG;
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
            }
        } catch (Throwable e) {
            outcomes.addAll(group); // one that was written all the same changes nothing: its claim is over
            trouble.log(Level.ERROR, "The marker failed; it goes on", e);
            pauseLonger();
        }
    }

    private synchronized boolean isOver() {
        if (closing && (outcomes.isEmpty() || isOverdue())) {
            gaveUp |= !outcomes.isEmpty(); // their events are delivered again after their lease
            outcomes.clear();
            running = false;
        }
        return !running;
    }

    private boolean isOverdue() {
        return closing && System.nanoTime() - deadlineNanos > 0;
    }

    private void gather(List<Outcome> group) {
        try {
            Outcome first = outcomes.poll(100, TimeUnit.MILLISECONDS); // looks up now and then to see a close
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
        boolean repeated = false; // whether a try before may have been written, though it failed
        List<Outcome> tried = group;
        do {
            tried = term.isUsed() ? withoutMarksThatAreOver(tried) : tried;
            if (tried.isEmpty()) {
                return;
            }
            if (!repeated) { // else it must be the same try again, under the same claims
                tried = tried.stream().map(Marker::underCurrentClaim).toList();
            }
            if (isInDoubt(tried)) {
                LockSupport.parkNanos(FIRST_PAUSE.toNanos());
                continue;
            }
            try {
                writeGroup(tried, repeated);
                pause = FIRST_PAUSE;
                return;
            } catch (RuntimeException | Error e) {
                tell(listener::markFailed);
                if (SqlErrors.isRefusal(e)) {
                    writeOneByOne(tried, repeated);
                    return;
                }
                repeated |= SqlErrors.isOutcomeUnknown(e);
                trouble.log(
                        Level.ERROR, "Cannot write " + tried.size() + " outcomes; trying again, no attempt is lost", e);
            }
            pauseLonger();
        } while (!isOverdue());
        gaveUp = true;
    }

    private static Outcome underCurrentClaim(Outcome outcome) {
        return outcome instanceof Marked marked ? marked.underCurrentClaim() : outcome;
    }

    /** Whether marks must wait because it is not certain that this node leads. A release is always allowed. */
    private boolean isInDoubt(List<Outcome> group) {
        return term.isUsed()
                && group.stream()
                        .anyMatch(outcome -> outcome instanceof Marked marked && !term.covers(marked.delivery()));
    }

    /**
     * Takes out what ran under a leadership that was lost. It is released instead of marked: another leader may have
     * delivered it since.
     */
    private List<Outcome> withoutMarksThatAreOver(List<Outcome> group) {
        List<Outcome> left = new ArrayList<>();
        for (Outcome outcome : group) {
            if (outcome instanceof Marked marked && term.isOver(marked.delivery())) {
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

    /** Finds the outcome that the database refuses, and tries it again later, with a harmless text and at last without any. The others are written. */
    private void writeOneByOne(List<Outcome> group, boolean repeated) {
        boolean stuck = false;
        for (Outcome outcome : group) {
            if (isInDoubt(List.of(outcome))) {
                outcomes.add(outcome);
                continue;
            }
            try {
                writeGroup(List.of(outcome), repeated);
            } catch (RuntimeException | Error e) {
                if (outcome instanceof Marked marked && !marked.mark().error().isEmpty() && SqlErrors.isRefusal(e)) {
                    Mark mark = marked.mark();
                    refused.log(
                            Level.ERROR,
                            "The database refused the outcome of event " + mark.eventId()
                                    + "; it is written without its text: " + mark.error(),
                            e);
                    String harmless = mark.error().equals(REPLACEMENT_ERROR) ? "" : REPLACEMENT_ERROR;
                    outcomes.add(new Marked(marked.delivery(), mark.withError(harmless)));
                } else {
                    trouble.log(
                            Level.ERROR,
                            "Cannot write the outcome of event " + outcome.eventId()
                                    + "; trying again, no attempt is lost",
                            e);
                    outcomes.add(outcome);
                    stuck = true;
                }
            }
            if (isOverdue()) {
                gaveUp = true;
                return;
            }
        }
        if (stuck) {
            pauseLonger();
        } else {
            pause = FIRST_PAUSE;
        }
    }

    private void pauseLonger() {
        LockSupport.parkNanos(closing ? FIRST_PAUSE.toNanos() : pause.toNanos());
        Duration longer = pause.multipliedBy(2);
        pause = longer.compareTo(LONGEST_PAUSE) < 0 ? longer : LONGEST_PAUSE;
    }

    private void writeGroup(List<Outcome> group, boolean repeated) {
        List<Delivery> deliveries = new ArrayList<>();
        List<Mark> marks = new ArrayList<>();
        List<Release> releases = new ArrayList<>();
        Set<String> keepKey = new HashSet<>();
        List<EndedRun> history = new ArrayList<>();
        for (Outcome outcome : group) {
            if (outcome instanceof Released released) {
                releases.add(released.release());
            } else if (outcome instanceof Marked marked) {
                deliveries.add(marked.delivery());
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
        Set<String> ours = store.write(marks, releases, keepKey, history);
        for (int i = 0; i < marks.size(); i++) {
            Delivery delivery = deliveries.get(i);
            Mark mark = marks.get(i);
            Written notFound = repeated ? Written.PROBABLY : Written.NO;
            Written written = ours.contains(mark.eventId()) ? Written.YES : notFound;
            tell(() -> listener.marked(delivery, mark, written));
        }
        for (Release release : releases) {
            tell(() -> listener.released(release));
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
