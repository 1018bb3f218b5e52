package outbox.fake;

import org.jspecify.annotations.Nullable;
import outbox.internal.Scheduler;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;

/**
 * Runs the threads of several nodes on the thread of a test, with a simulated clock. A seed determines which turn comes
 * next. The same seed gives the same run, if the code under test depends on nothing but its scheduler.
 *
 * <p>A thread that pauses in the middle of a turn lets others take turns, inside its own call. It continues after all
 * of these have ended, which may be late, as on a busy machine. A thread that waits for a condition has ended its
 * turn; it takes the next one after a signal or when its time is over.
 *
 * <p>Nobody interrupts anybody here: all threads are one. The flag is cleared after each turn.
 */
public final class Simulation {

    private static final int DEEPEST = 4; // pauses inside pauses; deeper ones only move the clock
    private static final long LONGEST_TURN = TimeUnit.MICROSECONDS.toNanos(200);
    private static final Instant START = Instant.parse("2030-01-01T00:00:00Z");

    private final Random random;
    private final List<Task> tasks = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private @Nullable Task current; // the innermost turn
    private long nanos;
    private int depth; // number of turns that have begun and not ended
    private int nodes;
    private int started; // number of threads started so far
    private long digest; // of all turns and their times

    public Simulation(long seed) {
        random = new Random(seed);
    }

    public Duration now() {
        return Duration.ofNanos(nanos);
    }

    /** Reads the clock of the database, which takes a moment. */
    public Instant readClock() {
        nanos += below(LONGEST_TURN);
        Instant read = START.plusNanos(nanos);
        nanos += below(LONGEST_TURN);
        return read;
    }

    public long below(long bound) {
        return random.nextLong(bound);
    }

    /** Returns true once in so many calls on average. */
    public boolean once(int calls) {
        return random.nextInt(calls) == 0;
    }

    /** Returns how many turns have begun and not ended. */
    public int depth() {
        return depth;
    }

    /** Adds a line to the history. */
    public void note(String line) {
        history.add(now() + " " + line);
    }

    /** Returns the noted lines, and at the end a digest of all turns. */
    public List<String> history() {
        List<String> all = new ArrayList<>(history);
        all.add("turns " + Long.toHexString(digest));
        return all;
    }

    /** Lets a thread take a turn, or moves the clock to the next time at which one can. */
    public void step() {
        if (!turn()) {
            advance(Long.MAX_VALUE);
        }
    }

    private boolean turn() {
        List<Task> ready = new ArrayList<>();
        for (Task task : tasks) {
            if (task.isReady()) {
                ready.add(task);
            }
        }
        if (ready.isEmpty()) {
            return false;
        }
        run(ready.get(random.nextInt(ready.size())));
        return true;
    }

    private void run(Task task) {
        Task outer = current;
        nanos += 1 + below(LONGEST_TURN);
        digest = (digest * 31 + task.number) * 31 + nanos;
        task.awaited = null;
        task.isRunning = true;
        current = task;
        depth++;
        boolean goesOn;
        try {
            goesOn = task.turn.getAsBoolean();
        } finally {
            task.isRunning = false;
            current = outer;
            depth--;
            Thread.interrupted();
        }
        if (!goesOn) {
            tasks.remove(task);
        }
    }

    private void advance(long most) {
        long next = most;
        for (Task task : tasks) {
            next = Math.min(next, task.readyNanos());
        }
        if (next == Long.MAX_VALUE) {
            throw new IllegalStateException("All threads wait for ever");
        }
        nanos = Math.max(nanos, next);
    }

    /** Thrown where a thread of a crashed node would do something that others see. */
    public static final class Crash extends Error {

        private static final long serialVersionUID = 1;

        Crash() {
            super("crashed", null, false, false);
        }
    }

    /** A thread of a node. */
    private final class Task {

        private final Node node;
        private final int number = started++;
        private final BooleanSupplier turn;
        private @Nullable Waiters awaited; // null if it waits for nothing
        private long untilNanos; // end of the wait
        private boolean isRunning;

        Task(Node node, BooleanSupplier turn) {
            this.node = node;
            this.turn = turn;
        }

        boolean isReady() {
            return readyNanos() <= nanos;
        }

        long readyNanos() {
            if (isRunning || node.isCrashed) {
                return Long.MAX_VALUE;
            }
            return Math.max(node.stalledUntilNanos, awaited == null ? 0 : untilNanos);
        }
    }

    /** A machine with its own monotonic clock. It may stall, or crash: then it takes no more turns. */
    public final class Node implements Scheduler {

        // clocks of machines have nothing in common; this one overflows during the test
        private final long originNanos = nodes++ % 2 == 0 ? Long.MAX_VALUE - below(10_000_000_000L) : random.nextLong();
        private long stalledUntilNanos;
        private boolean isCrashed;

        public void crash() {
            isCrashed = true;
        }

        /** Ends a turn that had begun before the crash. */
        public void requireAlive() {
            if (isCrashed) {
                throw new Crash();
            }
        }

        public boolean isCrashed() {
            return isCrashed;
        }

        public void stall(Duration time) {
            stalledUntilNanos = nanos + time.toNanos();
        }

        public boolean isStalled() {
            return stalledUntilNanos > nanos;
        }

        @Override
        public long nanoTime() {
            return originNanos + nanos;
        }

        @Override
        public Instant wallTime() {
            return START.plusNanos(nanos);
        }

        @Override
        public void pause(long length) {
            long end = nanos + length;
            if (depth > DEEPEST) {
                nanos = Math.max(nanos, end);
            }
            requireAlive();
            while (nanos < end || isStalled()) {
                if (!turn()) {
                    advance(Math.max(end, stalledUntilNanos));
                }
                requireAlive();
            }
        }

        @Override
        public long random(long origin, long bound) {
            return random.nextLong(origin, bound);
        }

        @Override
        public Condition newCondition(Lock lock) {
            return new Waiters();
        }

        @Override
        public void start(ThreadFactory threads, BooleanSupplier turn) {
            tasks.add(new Task(this, turn));
        }

        /** Starts a thread that pauses for a while after each turn. */
        public void repeat(Duration longestPause, BooleanSupplier turn) {
            Waiters pause = new Waiters();
            tasks.add(new Task(this, () -> {
                boolean goesOn = turn.getAsBoolean();
                pause.endTurn(below(longestPause.toNanos()));
                return goesOn;
            }));
        }
    }

    /** The threads that wait for a condition. A wait returns at once and ends the turn. */
    private final class Waiters implements Condition {

        @Override
        public void await() {
            endTurn(Long.MAX_VALUE - nanos);
        }

        @Override
        public long awaitNanos(long length) {
            endTurn(length);
            return length;
        }

        private void endTurn(long length) {
            Task waiting = current;
            if (waiting == null) {
                throw new IllegalStateException("Only a turn waits for a condition");
            }
            waiting.awaited = this;
            waiting.untilNanos = nanos + length;
        }

        @Override
        public void signal() {
            List<Task> waiting = waiting();
            if (!waiting.isEmpty()) {
                waiting.get(random.nextInt(waiting.size())).awaited = null;
            }
        }

        @Override
        public void signalAll() {
            waiting().forEach(task -> task.awaited = null);
        }

        private List<Task> waiting() {
            return tasks.stream().filter(task -> task.awaited == this).toList();
        }

        @Override
        public void awaitUninterruptibly() {
            endTurn(Long.MAX_VALUE - nanos);
        }

        @Override
        public boolean await(long time, TimeUnit unit) {
            endTurn(unit.toNanos(time));
            return true;
        }

        @Override
        public boolean awaitUntil(Date deadline) {
            throw new UnsupportedOperationException("There is no wall clock");
        }
    }
}
