package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.Scheduler;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * The suspects of a dispatcher. One suspect at a time has its turn, from the moment a worker takes it until its
 * outcome is committed. So a crash of the process is attributed to one event only.
 *
 * <p>A suspect without attempts runs together with other events. A suspect whose run may be decisive, because it has
 * attempts or would have used them up, runs alone. It starts when nothing else runs, and nothing else starts until
 * it is removed. After such a run, other events have at least as much time as it took. Suspects that run alone come
 * first, and of these the ones with the most attempts. So after a crash, the event that was charged is the first to
 * prove that it is harmless. A dispatcher with one worker keeps the order of claims instead: suspects have their
 * turns in order of arrival, and later events wait for them.
 *
 * <p>Guarded by the lock of the queues. See ADR 47.
 */
final class SuspectLine {

    /** How long a suspect that must run alone waits for running listeners to end. */
    static final Duration QUIET_LIMIT = Duration.ofSeconds(5);

    private final boolean inOrder;
    private final Scheduler scheduler;
    private final PriorityQueue<Delivery> alone = new PriorityQueue<>(
            Comparator.comparingInt(Delivery::attempts).reversed().thenComparingLong(Delivery::arrival));
    private final ArrayDeque<Delivery> others = new ArrayDeque<>();
    // suspects that a worker had taken and suspended
    private final ArrayDeque<Delivery> resumed = new ArrayDeque<>();
    private @Nullable Delivery current; // the suspect that has its turn
    private boolean shut; // only the current suspect, or the one that waits to run alone, may start
    private long shutNanos; // when shut was set
    private long openUntilNanos; // until then, suspects do not shut out other waiting events

    /**
     * Creates an empty line.
     *
     * @param inOrder whether all suspects have their turns in order of arrival
     */
    SuspectLine(boolean inOrder, Scheduler scheduler) {
        this.inOrder = inOrder;
        this.scheduler = scheduler;
        this.openUntilNanos = scheduler.nanoTime();
    }

    void add(Delivery suspect, long arrival) {
        suspect.arrived(arrival);
        if (suspect.runsAlone() && !inOrder) {
            alone.add(suspect);
        } else {
            others.add(suspect);
        }
    }

    void resume(Delivery suspect) {
        resumed.add(suspect);
    }

    boolean isEmpty() {
        return resumed.isEmpty() && alone.isEmpty() && others.isEmpty();
    }

    /** Whether the first suspect that waits here arrived before the given position. */
    boolean isBefore(long arrival) {
        Delivery first = others.peek();
        return !resumed.isEmpty() || first != null && first.arrival() < arrival;
    }

    /** Whether other events must wait. */
    boolean isShut() {
        return shut;
    }

    boolean hasTurn(Delivery delivery) {
        return delivery == current;
    }

    /**
     * Gives the next suspect its turn and returns it, or returns null if none may start now. A suspect that must run
     * alone shuts out other events first.
     *
     * @param atWork how many deliveries workers have taken and not removed
     * @param othersWait whether an event that is not a suspect could start instead
     */
    @Nullable
    Delivery poll(int atWork, boolean othersWait) {
        if (current != null) {
            return resumed.remove(current) ? current : null;
        }
        Delivery next = resumed.peek();
        if (next == null) {
            next = alone.peek();
        }
        if (next != null && next.runsAlone() && !mayBeAlone(atWork, othersWait)) {
            next = shut ? null : others.peek();
        }
        if (next == null && !shut) {
            next = others.peek();
        }
        if (next != null) {
            remove(next);
            current = next;
        }
        return next;
    }

    private boolean mayBeAlone(int atWork, boolean othersWait) {
        long now = scheduler.nanoTime();
        if (!shut) {
            if (othersWait && now - openUntilNanos < 0) {
                return false;
            }
            shut = true;
            shutNanos = now;
        }
        return atWork == 0 || nanosToQuietLimit() <= 0;
    }

    /** Whether a suspect waits to run alone. */
    boolean waitsForQuiet() {
        return shut && current == null;
    }

    /**
     * Returns how long the suspect that must run alone still waits for running events; negative if that
     * time is over.
     */
    long nanosToQuietLimit() {
        return shutNanos + QUIET_LIMIT.toNanos() - scheduler.nanoTime();
    }

    private void remove(Delivery delivery) {
        if (!resumed.remove(delivery) && !alone.remove(delivery)) {
            others.remove(delivery);
        }
    }

    /** Ends the turn of this delivery. Returns false if it did not have the turn. */
    boolean endTurn(Delivery delivery) {
        if (delivery != current) {
            return false;
        }
        current = null;
        open();
        return true;
    }

    private void open() {
        if (shut) {
            shut = false;
            long now = scheduler.nanoTime();
            openUntilNanos = now + (now - shutNanos);
        }
    }

    /** Removes all waiting suspects and adds them to the list. */
    void drainTo(List<Delivery> drained) {
        drained.addAll(resumed);
        drained.addAll(alone);
        drained.addAll(others);
        resumed.clear();
        alone.clear();
        others.clear();
        if (current == null) {
            open();
        }
    }
}
