package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * The suspects of a dispatcher. One at a time has its turn: from the moment a worker takes it until its outcome is
 * committed. So a process that ends accuses one event only.
 *
 * <p>A suspect without attempts runs next to other events. A suspect whose run may decide something, because it has
 * attempts or would have used them up, runs alone: nothing else starts until it is gone, and it starts when nothing else
 * is at work. After such a run other events have at least as much time as it took. Suspects that run alone come first,
 * those with the most attempts at the head: after a crash, the event that was charged is the first to show that it is
 * harmless. A dispatcher with one worker keeps the order of claims instead: suspects have their turns as they came, and
 * what came behind one waits for it.
 *
 * <p>Guarded by the lock of the queues. See ADR 47.
 */
final class SuspectLine {

    /** A listener that was at work for so long before is not waited for. */
    static final Duration QUIET_LIMIT = Duration.ofSeconds(5);

    private final boolean inOrder;
    private final PriorityQueue<Delivery> alone = new PriorityQueue<>(
            Comparator.comparingInt(Delivery::attempts).reversed().thenComparingLong(Delivery::arrival));
    private final ArrayDeque<Delivery> others = new ArrayDeque<>();
    private final ArrayDeque<Delivery> resumed = new ArrayDeque<>(); // had their turn, and were set aside
    private @Nullable Delivery current; // has its turn
    private boolean shut; // nothing but the current suspect, or the one that waits to be alone, may start
    private long shutNanos; // when that began
    private long openUntilNanos = System.nanoTime(); // until then suspects do not shut out others that wait

    /**
     * Makes an empty line.
     *
     * @param inOrder whether all suspects have their turns as they came
     */
    SuspectLine(boolean inOrder) {
        this.inOrder = inOrder;
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

    /** Whether the first that waits here came before the given place. */
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
     * Gives the next suspect its turn, and returns it; null if none may start now. One that must be alone shuts out
     * other events first.
     *
     * @param atWork how many deliveries workers have taken that are not gone
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
        long now = System.nanoTime();
        if (!shut) {
            if (othersWait && now - openUntilNanos < 0) {
                return false;
            }
            shut = true;
            shutNanos = now;
        }
        return atWork == 0 || nanosToQuietLimit() <= 0;
    }

    /** Whether a suspect waits to be alone. */
    boolean waitsForQuiet() {
        return shut && current == null;
    }

    /** How long the suspect that waits to be alone still waits for those at work; negative if that time is over. */
    long nanosToQuietLimit() {
        return shutNanos + QUIET_LIMIT.toNanos() - System.nanoTime();
    }

    private void remove(Delivery delivery) {
        if (!resumed.remove(delivery) && !alone.remove(delivery)) {
            others.remove(delivery);
        }
    }

    /** The turn of this delivery is over, if it had it; returns whether it had. */
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
            long now = System.nanoTime();
            openUntilNanos = now + (now - shutNanos);
        }
    }

    /** Takes out all that wait. */
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
