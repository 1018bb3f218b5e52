package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.internal.text.SafeLogger;

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
 * Keeps events away from a destination that is down, so that they lose no attempts and hold no workers. Several
 * listeners may share a breaker, see {@link Protection}. Thread-safe.
 *
 * <pre>
 *  CLOSED ── too many failures, or open() ──▶ OPEN ── after the wait ──▶ HALF_OPEN: 1 event, then 2, 4, … 64
 *     ▲                                        ▲                            │  │
 *     │                                        └── the first event failed, ─┘  │
 *     │                                            or too many of them         │
 *     └────────────────────────── all succeeded ───────────────────────────────┘
 * </pre>
 *
 * <p>Which failures count as an attempt of the event:
 *
 * <ul>
 *   <li>CLOSED: every failure counts, unless the transport reports that the destination is down.
 *   <li>OPEN: a failure of a run that started before is attributed to the destination and does not count.
 *   <li>HALF_OPEN: a failure is attributed to the destination until one event has succeeded. After that it counts,
 *       even if it opens the breaker. Otherwise an event that always fails would be retried forever during outages.
 * </ul>
 *
 * <p>A {@link RetryLaterException} or {@link GiveUpException} of the listener says nothing about the destination.
 */
public final class CircuitBreaker {

    /** Which events a breaker lets through. */
    public enum State {
        /** All events. */
        CLOSED,
        /** No events. */
        OPEN,
        /** A few events, more with each success. */
        HALF_OPEN
    }

    /** Returned by {@link #tryEnter} when no event may enter. */
    static final long REFUSED = -1;

    private static final Logger LOG = SafeLogger.of(CircuitBreaker.class);
    private static final int FULL_CONCURRENCY = 64; // if this many concurrent events succeed, the breaker closes

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

    private final Set<String> tables = new TreeSet<>(); // tables whose events this breaker guards; guarded by this
    private final Deque<Call> calls = new ArrayDeque<>(); // the calls in the window; guarded by this
    private int failedCalls; // the failed calls among them; guarded by this
    private State state = State.CLOSED; // guarded by this
    // incremented with each change of state, so that tickets of an earlier state are recognised; guarded by this
    private long epoch;
    private long openedNanos; // guarded by this
    private long brokenNanos; // start of the outage; guarded by this
    private String reason = ""; // guarded by this
    private int allowed; // how many events may run while HALF_OPEN; guarded by this
    private int inside; // events of this epoch that run while HALF_OPEN; guarded by this
    private int step; // successes since allowed was raised; guarded by this
    private int successes; // of this epoch; guarded by this
    private int failures; // of this epoch; guarded by this

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

    /** Starts a breaker with the given name. Metrics and operators see this name. */
    public static Builder named(String name) {
        return new Builder(name);
    }

    public String name() {
        return name;
    }

    public synchronized State state() {
        return state;
    }

    /** Returns why the breaker last opened, or an empty string if it never did. */
    public synchronized String reason() {
        return reason;
    }

    /**
     * Opens the breaker because the transport knows that the destination is down. If the breaker is already open,
     * its wait starts again.
     */
    public void open(String why) {
        Objects.requireNonNull(why, "why");
        State before;
        synchronized (this) {
            before = state;
            becomeOpen(why);
        }
        logChange(before, State.OPEN);
    }

    /** Adds a table to the tables that log lines of this breaker name. */
    synchronized void guards(String table) {
        tables.add(table);
    }

    Duration waitTime() {
        return wait;
    }

    /** Whether {@link #tryEnter} would certainly refuse now. */
    synchronized boolean isShut() {
        return state == State.OPEN && nanoTime.getAsLong() - openedNanos < wait.toNanos();
    }

    /**
     * Returns a ticket for one run, or {@link #REFUSED}. Each ticket must be passed to
     * {@link #end} or {@link #cancel}.
     */
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

    /** Returns the ticket of a run that did not take place, or whose result says nothing about the destination. */
    synchronized void cancel(long ticket) {
        if (ticket == epoch && state == State.HALF_OPEN) {
            inside--;
        }
    }

    /**
     * Ends a run. Returns how long the event must wait before a retry that costs no attempt, if the destination
     * caused the failure, otherwise null.
     */
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

    /** Logs the beginning and the end of an outage. A probe that fails in between is logged at DEBUG only. */
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
        return failure.getClass().getName(); // not the message, which comes from user code and may be long
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

    /** Collects the settings of a breaker. Each setter throws on an invalid value. */
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

        /**
         * The breaker opens when at least this fraction of the calls in the window failed. Above 0 and at most
         * 1, default 0.5.
         */
        public Builder failureRate(double failureRate) {
            if (!(failureRate > 0 && failureRate <= 1)) {
                throw new IllegalArgumentException("failureRate must be above 0 and at most 1: " + failureRate);
            }
            this.failureRate = failureRate;
            return this;
        }

        /**
         * How many calls the window must contain before the failure rate can open the breaker. 1 to
         * 10,000, default 10.
         */
        public Builder minimumCalls(int minimumCalls) {
            this.minimumCalls = count("minimumCalls", minimumCalls);
            return this;
        }

        /**
         * How many of the latest calls the window contains at most. 1 to 10,000, default 100, and never
         * less than {@code minimumCalls}.
         */
        public Builder windowCalls(int windowCalls) {
            this.windowCalls = count("windowCalls", windowCalls);
            return this;
        }

        /** How long a call stays in the window. At most a day, default one minute. */
        public Builder window(Duration window) {
            this.window = positive("window", window);
            return this;
        }

        /**
         * How long the breaker stays open before it lets an event through as a probe. A recovered destination is
         * detected after about this time. At most a day, default 5 seconds.
         */
        public Builder wait(Duration wait) {
            this.wait = positive("wait", wait);
            return this;
        }

        /**
         * Opens the breaker at once when a listener throws an exception of this type, which means that the
         * destination is down. The attempt of the event does not count. May be called several times.
         */
        public Builder openOn(Class<? extends Throwable> type) {
            down.add(Objects.requireNonNull(type, "type"));
            return this;
        }

        /**
         * Ignores exceptions of this type, because they say nothing about the destination. May be
         * called several times.
         */
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
