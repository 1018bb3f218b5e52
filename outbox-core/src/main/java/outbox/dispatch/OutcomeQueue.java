package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.Scheduler;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The outcomes that wait for the marker: outcomes to write next, and postponed outcomes, each with its own pause.
 * The queue needs no limit: each entry belongs to an event that the dispatcher accepted, and the dispatcher accepts
 * none while {@link #isFull()}. Any thread adds outcomes, the marker thread takes them.
 */
final class OutcomeQueue {

    private static final int MAX_BACKLOG = 10_000;
    private static final int MAX_GROUP = 1000;
    private static final Duration LONGEST_LOOK = Duration.ofMillis(100);
    // under load, one commit for many events costs less than several commits
    private static final Duration LINGER = Duration.ofMillis(5);
    private static final int LINGERS = 10; // at most, while the group is small and grows
    private static final int SMALL_GROUP = 100;

    private final ConcurrentLinkedQueue<Outcome> next = new ConcurrentLinkedQueue<>();
    // size of next, because ConcurrentLinkedQueue.size() counts all nodes
    private final AtomicInteger size = new AtomicInteger();
    private final Scheduler scheduler;
    private final Postponed<Outcome> postponed;
    private final int lingers;
    // an outcome is awaited; the adding thread sets it, the marker thread clears it
    private volatile boolean hurried;
    private volatile boolean closing;
    private boolean busy; // whether the last group had several outcomes; marker thread only

    /** @param awaited whether events wait for the outcomes of other events, as with ordered delivery */
    OutcomeQueue(boolean awaited, Scheduler scheduler) {
        this.scheduler = scheduler;
        this.postponed = new Postponed<>(scheduler);
        this.lingers = awaited ? 1 : LINGERS;
    }

    /** Adds an outcome. Returns whether the queue was empty, so that the caller must wake the marker. */
    boolean add(Outcome outcome) {
        next.add(outcome);
        if (outcome.what().isAwaited()) {
            hurried = true;
        }
        return size.getAndIncrement() == 0;
    }

    /** Adds the outcomes of a failed group again. */
    void addAll(List<Outcome> group) {
        group.forEach(this::add);
    }

    void postpone(Outcome outcome, Duration pause) {
        postponed.add(outcome, pause);
    }

    int postponed() {
        return postponed.size();
    }

    /** Whether too many outcomes wait to accept more events. */
    boolean isFull() {
        return size.get() + postponed.size() >= MAX_BACKLOG;
    }

    boolean isEmpty() {
        return size.get() == 0 && postponed.size() == 0;
    }

    void clear() {
        while (poll() != null) {
            // also remove outcomes that are added in the meantime
        }
        postponed.clear();
    }

    /** Closes the queue: the marker no longer waits for a larger group or for the end of a pause. */
    void close() {
        closing = true;
    }

    private @Nullable Outcome poll() {
        Outcome first = next.poll();
        if (first != null) {
            size.decrementAndGet();
        }
        return first;
    }

    /** Returns the time until an outcome must be written; zero or negative if there is one. */
    long untilNextNanos() {
        return size.get() > 0 ? 0 : postponed.untilNext(LONGEST_LOOK).toNanos();
    }

    /** Moves the waiting outcomes to the group. Under load it waits a little for more. */
    void gather(List<Outcome> group) {
        if (busy && size.get() > 0 && !closing) {
            linger();
        }
        hurried = false;
        for (Outcome one = poll(); one != null; one = group.size() < MAX_GROUP ? poll() : null) {
            group.add(one);
        }
        busy = group.size() > 1;
    }

    /** Moves the postponed outcomes whose pause is over to the group. */
    void gatherPostponed(List<Outcome> group) {
        postponed.moveTo(group, MAX_GROUP, closing);
    }

    private void linger() {
        int times = 0;
        int before;
        do {
            before = size.get();
            scheduler.pause(LINGER.toNanos());
        } while (++times < lingers && isSmallAndGrows(before) && !hurried && !closing);
    }

    private boolean isSmallAndGrows(int before) {
        int now = size.get();
        return now < SMALL_GROUP && now > before;
    }
}
