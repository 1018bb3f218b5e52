package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * Keeps events away from a destination that is down, so that they lose no attempts and hold no workers. Several listeners may share one, by {@link Protection}. Thread-safe.
 *
 * <pre>
 *  CLOSED ── too many failures, or the transport's own word ──▶ OPEN ── after the wait ──▶ HALF_OPEN: 1 event at a time, then 2, 4, … 64
 *     ▲                                                          ▲                            │  │
 *     │                                                          └── the first one failed, ───┘  │
 *     └────────────────────────── all went well ──────────────────── or too many of them ─────────┘
 * </pre>
 *
 * <p>Whose fault is a failure? While CLOSED it is the event's, and its attempt counts, unless the transport says that the destination is down. While OPEN, of runs that were started
 * before, it is the destination's. While HALF_OPEN it is the destination's until something succeeded; then it is the event's, even if the breaker opens by it, so that a poison event cannot
 * live for ever on the fault of others. The listener's own word ({@link RetryLaterException}, {@link GiveUpException}) says nothing about the destination.
 */
public final class CircuitBreaker {

    /** What a breaker lets through. */
    public enum State {
        /** Everything. */
        CLOSED,
        /** Nothing. */
        OPEN,
        /** A few events, more with each success. */
        HALF_OPEN
    }

    /** The answer of {@link #tryEnter} when nothing may enter. */
    static final long REFUSED = -1;

    private static final Logger LOG = SafeLogger.of(CircuitBreaker.class);
    private static final int FULL_CONCURRENCY = 64; // what goes well with so many at a time needs no more care

    private record Call(long nanos, boolean failed) {}

    private final String name;
    private final double failureRate;
    private final int minimumCalls;
    private final int windowCalls;
    private final long windowNanos;
    private final Duration wait;
    private final List<Class<? extends Throwable>> down;
    private final List<Class<? extends Throwable>> ignored;
    private final LongSupplier nanoTime;

    private final Set<String> tables = new TreeSet<>(); // whose events it guards; guarded by this, as everything below
    private final Deque<Call> calls = new ArrayDeque<>();
    private int failedCalls; // of those
    private State state = State.CLOSED;
    private long epoch; // raised with each change of state: what entered before says nothing about after
    private long openedNanos;
    private long brokenNanos; // when the outage began
    private String reason = "";
    private int allowed; // while HALF_OPEN
    private int inside; // while HALF_OPEN, of this epoch
    private int step; // successes since allowed was raised
    private int successes; // of this epoch
    private int failures; // of this epoch

    private CircuitBreaker(Builder builder) {
        name = builder.name;
        failureRate = builder.failureRate;
        minimumCalls = builder.minimumCalls;
        windowCalls = Math.max(builder.windowCalls, builder.minimumCalls);
        windowNanos = builder.window.toNanos();
        wait = builder.wait;
        down = List.copyOf(builder.down);
        ignored = List.copyOf(builder.ignored);
        nanoTime = builder.nanoTime;
    }

    /** A breaker with the given name, which metrics and operators see. */
    public static Builder named(String name) {
        return new Builder(name);
    }

    public String name() {
        return name;
    }

    public synchronized State state() {
        return state;
    }

    /** Why it opened last; empty if it never did. */
    public synchronized String reason() {
        return reason;
    }

    /** The transport's own word that the destination is down. Open already, it starts its wait anew. */
    public void open(String why) {
        Objects.requireNonNull(why, "why");
        State before;
        synchronized (this) {
            before = state;
            becomeOpen(why);
        }
        logChange(before, State.OPEN);
    }

    /** Breaks the way of the events of this table, among others: log lines name it. */
    synchronized void guards(String table) {
        tables.add(table);
    }

    Duration waitTime() {
        return wait;
    }

    /** Whether it is of no use to try {@link #tryEnter} now. */
    synchronized boolean isShut() {
        return state == State.OPEN && nanoTime.getAsLong() - openedNanos < wait.toNanos();
    }

    /** A ticket for one run, or {@link #REFUSED}. Each ticket ends by {@link #end} or {@link #cancel}. */
    synchronized long tryEnter() {
        if (isShut()) {
            return REFUSED;
        }
        if (state == State.OPEN) {
            become(State.HALF_OPEN);
            allowed = 1;
        }
        if (state == State.HALF_OPEN) {
            if (inside >= allowed) {
                return REFUSED;
            }
            inside++;
        }
        return epoch;
    }

    /** The run did not take place, or its end says nothing. */
    synchronized void cancel(long ticket) {
        if (ticket == epoch && state == State.HALF_OPEN) {
            inside--;
        }
    }

    /** The end of a run. Answers how long its event should wait, uncounted, if the destination is to blame; null if it is not. */
    @Nullable
    Duration end(long ticket, @Nullable Throwable failure) {
        State before;
        State after;
        boolean excused;
        synchronized (this) {
            before = state;
            excused = failure != null && isExcused(ticket, failure);
            if (failure == null) {
                succeeded(ticket);
            }
            after = state;
        }
        logChange(before, after);
        return excused ? wait : null;
    }

    /** An outage is logged once, by its beginning and its end; a probe that fails in between is not news. */
    private void logChange(State before, State after) {
        if (before == after) {
            return;
        }
        if (after == State.OPEN) {
            LOG.log(
                    before == State.CLOSED ? Level.WARNING : Level.DEBUG,
                    what() + " is open: " + reason() + ". It tries again in " + wait);
        } else if (after == State.CLOSED) {
            LOG.log(Level.INFO, what() + " is closed again; the outage lasted " + outage());
        }
    }

    private synchronized String what() {
        return "Circuit breaker " + name
                + (tables.isEmpty()
                        ? ""
                        : (tables.size() == 1 ? " of table " : " of tables ") + String.join(", ", tables));
    }

    private synchronized Duration outage() {
        return Duration.ofSeconds(
                Duration.ofNanos(nanoTime.getAsLong() - brokenNanos).toSeconds());
    }

    private void succeeded(long ticket) {
        if (ticket != epoch) {
            return;
        }
        if (state == State.CLOSED) {
            note(false);
        } else if (state == State.HALF_OPEN) {
            inside--;
            successes++;
            step++;
            if (step >= allowed) {
                step = 0;
                allowed *= 2;
            }
            if (allowed > FULL_CONCURRENCY) {
                become(State.CLOSED);
            }
        }
    }

    private boolean isExcused(long ticket, Throwable failure) {
        if (isOne(failure, down)) {
            if (ticket == epoch) {
                becomeOpen(describe(failure));
            }
            return true;
        }
        if (failure instanceof GiveUpException
                || failure instanceof RetryLaterException
                || failure instanceof UnroutableEventException
                || isOne(failure, ignored)) {
            cancel(ticket);
            return false;
        }
        if (ticket != epoch) {
            return state != State.CLOSED;
        }
        if (state == State.CLOSED) {
            note(true);
            if (calls.size() >= minimumCalls && failedCalls >= failureRate * calls.size()) {
                becomeOpen(failedCalls + " of the last " + calls.size() + " calls failed, the last by "
                        + describe(failure));
            }
            return false;
        }
        inside--;
        failures++;
        boolean nothingSucceeded = successes == 0;
        if (nothingSucceeded || failures >= failureRate * (failures + successes)) {
            becomeOpen(describe(failure));
        }
        return nothingSucceeded;
    }

    private static boolean isOne(Throwable failure, List<Class<? extends Throwable>> types) {
        return types.stream().anyMatch(type -> type.isInstance(failure));
    }

    private static String describe(Throwable failure) {
        return failure.getClass().getName(); // not its text, which is the user's code and may be long
    }

    private void note(boolean failed) {
        long now = nanoTime.getAsLong();
        calls.addLast(new Call(now, failed));
        failedCalls += failed ? 1 : 0;
        for (Call oldest = calls.peekFirst();
                oldest != null && (calls.size() > windowCalls || now - oldest.nanos() > windowNanos);
                oldest = calls.peekFirst()) {
            calls.removeFirst();
            failedCalls -= oldest.failed() ? 1 : 0;
        }
    }

    private void becomeOpen(String why) {
        long now = nanoTime.getAsLong();
        if (state == State.CLOSED) {
            brokenNanos = now;
        }
        become(State.OPEN);
        openedNanos = now;
        reason = why;
    }

    private void become(State next) {
        state = next;
        epoch++;
        inside = 0;
        step = 0;
        successes = 0;
        failures = 0;
        calls.clear();
        failedCalls = 0;
    }

    @Override
    public String toString() {
        return name + " " + state();
    }

    /** Collects the settings of a breaker; every setter refuses a wrong value. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofDays(1);

        private final String name;
        private double failureRate = 0.5;
        private int minimumCalls = 10;
        private int windowCalls = 100;
        private Duration window = Duration.ofSeconds(60);
        private Duration wait = Duration.ofSeconds(5);
        private final List<Class<? extends Throwable>> down = new ArrayList<>();
        private final List<Class<? extends Throwable>> ignored = new ArrayList<>();
        private LongSupplier nanoTime = System::nanoTime;

        private Builder(String name) {
            this.name = Names.require("name", name);
        }

        /** Opens when at least this part of the calls in the window failed; above 0 and at most 1, default 0.5. */
        public Builder failureRate(double failureRate) {
            if (!(failureRate > 0 && failureRate <= 1)) {
                throw new IllegalArgumentException("failureRate must be above 0 and at most 1: " + failureRate);
            }
            this.failureRate = failureRate;
            return this;
        }

        /** Does not open by its rate before so many calls are in the window; 1 to 10,000, default 10. */
        public Builder minimumCalls(int minimumCalls) {
            this.minimumCalls = count("minimumCalls", minimumCalls);
            return this;
        }

        /** How many calls the window holds at most, the latest ones; 1 to 10,000, default 100, and never less than the minimum. */
        public Builder windowCalls(int windowCalls) {
            this.windowCalls = count("windowCalls", windowCalls);
            return this;
        }

        /** How long a call counts; at most a day, default a minute. */
        public Builder window(Duration window) {
            this.window = positive("window", window);
            return this;
        }

        /** How long it stays open before an event is tried, and about how long it takes to notice that the destination is back; at most a day, default 5 seconds. */
        public Builder wait(Duration wait) {
            this.wait = positive("wait", wait);
            return this;
        }

        /** Opens at once when a listener throws one of these, which means that the destination is down; the attempt of the event does not count. May be called several times. */
        public Builder openOn(Class<? extends Throwable> type) {
            down.add(Objects.requireNonNull(type, "type"));
            return this;
        }

        /** Takes no notice when a listener throws one of these, which says nothing about the destination. May be called several times. */
        public Builder ignore(Class<? extends Throwable> type) {
            ignored.add(Objects.requireNonNull(type, "type"));
            return this;
        }

        /** A monotonic clock in nanoseconds; default {@link System#nanoTime}. */
        public Builder clock(LongSupplier nanoTime) {
            this.nanoTime = Objects.requireNonNull(nanoTime, "nanoTime");
            return this;
        }

        public CircuitBreaker build() {
            return new CircuitBreaker(this);
        }

        private static int count(String setting, int value) {
            if (value < 1 || value > 10_000) {
                throw new IllegalArgumentException(setting + " must be between 1 and 10000: " + value);
            }
            return value;
        }

        private static Duration positive(String setting, Duration value) {
            if (value.isZero() || value.isNegative() || value.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(setting + " must be positive and at most a day: " + value);
            }
            return value;
        }
    }
}
