package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.QuietLog;
import outbox.internal.SqlErrors;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Writes the outcomes of one dispatcher. Workers hand them over and go on; one thread writes whatever has gathered since its last commit in one transaction, so at low load an
 * outcome is written at once and at high load hundreds share a commit.
 *
 * <p>A write that fails is repeated, with growing pauses, until it succeeds or the dispatcher closes: it never counts as an attempt of the event. Outcomes are fenced by their
 * claim, so a repetition, or one that comes after the lease has ended, can do no harm. If the database refuses a group for what is in it (an error text it cannot store), the
 * group is written one by one and the refused text is replaced.
 *
 * <p>The queue of outcomes needs no bound of its own: each entry is an event that the dispatcher accepted, and it accepts none while {@link #isBehind()}.
 */
final class Marker implements Runnable {

    /** Told when an outcome is in the database, or was found to be no longer ours to write. */
    interface Listener {
        void marked(Delivery delivery, Mark mark, boolean stillOurs);

        void released(Delivery delivery, String token);

        void markFailed();
    }

    /** What to write for an event; without a mark it is given back as if it had never been claimed. */
    private record Outcome(Delivery delivery, @Nullable Mark mark) {}

    private static final Logger LOG = System.getLogger(Marker.class.getName());
    private static final int MAX_GROUP = 1000;
    private static final int MAX_BACKLOG = 10_000;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
    private static final String REPLACEMENT_ERROR = "The error text could not be stored; see the log of the node";

    private final LinkedBlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
    private final ClaimedStore store;
    private final Listener listener;
    private final QuietLog trouble = new QuietLog(LOG);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean closing;
    private volatile long deadlineNanos; // set before closing; past it, the marker gives up

    Marker(ClaimedStore store, Listener listener) {
        this.store = store;
        this.listener = listener;
    }

    /** Takes over the outcome of a run; no effect if the run was settled before. */
    void settle(Delivery delivery, Mark mark) {
        if (delivery.settle()) {
            outcomes.add(new Outcome(delivery, mark));
        }
    }

    void release(Delivery delivery) {
        outcomes.add(new Outcome(delivery, null));
    }

    /** Whether so many outcomes wait that no more events should be accepted. */
    boolean isBehind() {
        return outcomes.size() >= MAX_BACKLOG;
    }

    /** Ends after everything handed over so far is written, at the latest after the given time; false if something remained. */
    boolean close(Duration patience) throws InterruptedException {
        deadlineNanos = System.nanoTime() + patience.toNanos();
        closing = true;
        return ended.await(patience.toNanos(), TimeUnit.NANOSECONDS) && outcomes.isEmpty();
    }

    @Override
    public void run() {
        try {
            while (!closing || !outcomes.isEmpty()) {
                List<Outcome> group = gather();
                if (!group.isEmpty() && !write(group)) {
                    outcomes.addAll(group);
                    return;
                }
            }
        } finally {
            ended.countDown();
        }
    }

    private List<Outcome> gather() {
        List<Outcome> group = new ArrayList<>();
        try {
            Outcome first = outcomes.poll(100, TimeUnit.MILLISECONDS); // looks up now and then to see a close
            if (first != null) {
                group.add(first);
                outcomes.drainTo(group, MAX_GROUP - 1);
            }
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: the marker ends by close, with its outcomes written", e);
        }
        return group;
    }

    /** Writes the group, however often that takes; false if the time to close was over first. */
    private boolean write(List<Outcome> group) {
        Duration pause = FIRST_PAUSE;
        for (boolean repeated = false; ; repeated = true) {
            try {
                writeGroup(group, repeated);
                return true;
            } catch (RuntimeException | Error e) {
                listener.markFailed();
                if (isRefused(e)) {
                    writeOneByOne(group, repeated);
                    return true;
                }
                trouble.log(
                        Level.ERROR, "Cannot write " + group.size() + " outcomes; trying again, no attempt is lost", e);
            }
            if (closing && System.nanoTime() - deadlineNanos > 0) {
                return false;
            }
            LockSupport.parkNanos(closing ? FIRST_PAUSE.toNanos() : pause.toNanos());
            Duration longer = pause.multipliedBy(2);
            pause = longer.compareTo(LONGEST_PAUSE) < 0 ? longer : LONGEST_PAUSE;
        }
    }

    /** Whether the database understood and refused, so that repeating the same cannot help: data exceptions and violated constraints. */
    private static boolean isRefused(Throwable e) {
        SQLException sql = SqlErrors.find(e);
        return sql != null
                && (SqlErrors.stateOf(sql).startsWith("22")
                        || SqlErrors.stateOf(sql).startsWith("23"));
    }

    private void writeOneByOne(List<Outcome> group, boolean repeated) {
        for (Outcome outcome : group) {
            try {
                writeGroup(List.of(outcome), repeated);
            } catch (RuntimeException e) {
                Mark mark = outcome.mark();
                if (mark == null || !isRefused(e)) {
                    outcomes.add(outcome);
                    continue;
                }
                LOG.log(
                        Level.ERROR,
                        "The database refused the outcome of event " + mark.eventId()
                                + "; it is written without its text",
                        e);
                outcomes.add(new Outcome(outcome.delivery(), mark.withError(REPLACEMENT_ERROR)));
            }
        }
    }

    private void writeGroup(List<Outcome> group, boolean repeated) {
        List<Delivery> marked = new ArrayList<>();
        List<Mark> marks = new ArrayList<>();
        List<Delivery> releases = new ArrayList<>();
        for (Outcome outcome : group) {
            if (outcome.mark() == null) {
                releases.add(outcome.delivery());
            } else {
                marked.add(outcome.delivery());
                marks.add(outcome.mark()
                        .withToken(outcome.delivery().token())); // the claim may be newer than the outcome
            }
        }
        List<String> tokens = releases.stream().map(Delivery::token).toList(); // one that is adopted later is not meant
        Set<String> ours = store.write(marks, releases);
        for (int i = 0; i < marks.size(); i++) {
            // After a failure that left the outcome unknown, not finding the claim means that the first try was
            // written.
            listener.marked(
                    marked.get(i),
                    marks.get(i),
                    repeated || ours.contains(marks.get(i).eventId()));
        }
        for (int i = 0; i < releases.size(); i++) {
            listener.released(releases.get(i), tokens.get(i));
        }
    }
}
