package outbox.testing.fault;

import org.jspecify.annotations.Nullable;
import outbox.testing.fault.FaultProxy.Direction;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/** The active faults of a proxy. Threads: tests change them; all pump threads read them. */
final class Faults {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Set<Direction> blackholes = EnumSet.noneOf(Direction.class); // guarded by lock
    private final Set<Direction> swallowed = EnumSet.noneOf(Direction.class); // guarded by lock
    private Duration latency = Duration.ZERO; // guarded by lock
    private @Nullable Trap trap; // guarded by lock

    void latency(Duration value) {
        change(() -> latency = value);
    }

    void blackhole(Direction direction) {
        change(() -> blackholes.add(direction));
    }

    void swallow(Direction direction) {
        change(() -> swallowed.add(direction));
    }

    boolean isSwallowed(Direction direction) {
        lock.lock();
        try {
            return swallowed.contains(direction);
        } finally {
            lock.unlock();
        }
    }

    void arm(@Nullable Trap value) {
        change(() -> {
            if (trap != null) {
                trap.sprung().cancel(false);
            }
            trap = value;
        });
    }

    void heal() {
        arm(null);
        change(() -> {
            latency = Duration.ZERO;
            blackholes.clear();
            swallowed.clear();
        });
    }

    /** Wakes waiting pumps, so that they check whether their connection has ended. */
    void wake() {
        change(() -> {});
    }

    @Nullable
    Trap trap() {
        lock.lock();
        try {
            return trap;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Blocks a pump for the latency and while its direction is a black hole. Returns early if its connection ends.
     */
    void hold(Direction direction, BooleanSupplier ended) throws InterruptedException {
        long start = System.nanoTime();
        lock.lockInterruptibly();
        try {
            while (!ended.getAsBoolean()) {
                long delay = latency.toNanos() - (System.nanoTime() - start);
                if (blackholes.contains(direction)) {
                    changed.await();
                } else if (delay > 0) {
                    changed.awaitNanos(delay);
                } else {
                    return;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private void change(Runnable change) {
        lock.lock();
        try {
            change.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
