package outbox.dispatch;

import outbox.internal.Scheduler;

import java.time.Duration;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Outcomes that could not be written with the others, each with its own pause. Limited
 * by {@link OutcomeQueue#isFull}. Thread-safe.
 */
final class Postponed<T> {

    private record Entry<T>(T what, long dueNanos) {}

    private final Scheduler scheduler;

    private final PriorityQueue<Entry<T>> entries =
            new PriorityQueue<>((one, other) -> Long.signum(one.dueNanos() - other.dueNanos())); // guarded by this

    Postponed(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    synchronized void add(T what, Duration pause) {
        entries.add(new Entry<>(what, scheduler.nanoTime() + pause.toNanos()));
    }

    /** Moves up to {@code most} entries whose pause is over, or entries with any pause, to the given list. */
    synchronized void moveTo(List<T> taken, int most, boolean all) {
        long now = scheduler.nanoTime();
        for (Entry<T> first = entries.peek();
                first != null && taken.size() < most && (all || now - first.dueNanos() >= 0);
                first = entries.peek()) {
            taken.add(first.what());
            entries.remove();
        }
    }

    /** Returns the time until the next pause is over: at least zero and at most the given time. */
    synchronized Duration untilNext(Duration most) {
        Entry<T> first = entries.peek();
        Duration left = first == null ? most : Duration.ofNanos(Math.max(0, first.dueNanos() - scheduler.nanoTime()));
        return left.compareTo(most) < 0 ? left : most;
    }

    synchronized int size() {
        return entries.size();
    }

    synchronized void clear() {
        entries.clear();
    }
}
