package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.GuardedMetrics;
import outbox.internal.QuietLog;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.internal.Ulid;
import outbox.spi.ConnectionProvider;
import outbox.spi.ErrorText;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The cold path: finds due events in the table and hands them over, so that an event is delivered even if the process that wrote it is gone.
 *
 * <p>It looks again at once after a full batch, soon after it found something, and less and less often, down to its interval, while there is nothing; the pauses are spread a little
 * so that nodes do not keep in step. It takes no more than the handler has room for. A cycle that fails is logged and the next one comes; nothing is lost. With claims, any number
 * of pollers share a table; with a {@link OutboxPollerHandler#leadership}, one of them works and the others stand by.
 *
 * <p>Thread-safe. {@link #poll()} may be called by hand, with or without {@link #start()}.
 */
public final class OutboxPoller implements AutoCloseable {

    private enum State {
        NEW,
        RUNNING,
        CLOSED
    }

    private static final Logger LOG = SafeLogger.of(OutboxPoller.class);
    private static final int BUSY_DIVISOR = 16;
    private static final long MIN_DUE_GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_DUE_GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int DUE_GAP_FACTOR = 5; // times what a cycle takes: a busy database is asked less often
    private static final long NEVER = Long.MAX_VALUE;
    private static final long NOT_YET = -1;
    private static final Duration DEFAULT_LOCK_TIMEOUT = Duration.ofMinutes(5);
    private static final Duration LONGEST_PAUSE = Duration.ofDays(1);

    private final PollCycle cycle;
    private final MetricsExporter metrics;
    private final StoreAccess access;
    private final long intervalMs;
    private final @Nullable Duration lockTimeout;
    private final QuietLog trouble = new QuietLog(LOG);
    private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
    private final Semaphore signals = new Semaphore(0); // one before the pause is kept, so none is lost
    private final AtomicBoolean woken = new AtomicBoolean();
    private final long startNanos = System.nanoTime();
    private final AtomicLong dueNanos =
            new AtomicLong(NEVER); // when more becomes due, counted from startNanos; cycles and any thread lower it
    private final ReentrantLock polling = new ReentrantLock(); // one cycle at a time
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile long lookedNanos =
            NOT_YET; // end of the last cycle that did not fail, counted from startNanos; start and cycles write
    private volatile @Nullable String lastError; // why the last cycle failed; cycles write
    private long pauseMs; // loop thread only
    private long cycleNanos; // when the last cycle began, counted from startNanos; loop thread only

    /** A poller without claims, for a table with a single poller, and for a handler without order: one that delivers in order is refused. */
    public OutboxPoller(
            ConnectionProvider connectionProvider,
            EventStore eventStore,
            OutboxPollerHandler handler,
            Duration skipRecent,
            int batchSize,
            long intervalMs,
            MetricsExporter metrics) {
        this(
                builder()
                        .connectionProvider(connectionProvider)
                        .eventStore(eventStore)
                        .handler(handler)
                        .skipRecent(skipRecent)
                        .batchSize(batchSize)
                        .intervalMs(intervalMs)
                        .metrics(metrics),
                null);
    }

    /**
     * A poller that claims what it hands over, for a table with any number of pollers.
     *
     * @param ownerId names this node in {@code locked_by}; null generates a name
     * @param lockTimeout how long a claim lasts; null means 5 minutes
     */
    public OutboxPoller(
            ConnectionProvider connectionProvider,
            EventStore eventStore,
            OutboxPollerHandler handler,
            Duration skipRecent,
            int batchSize,
            long intervalMs,
            MetricsExporter metrics,
            @Nullable String ownerId,
            @Nullable Duration lockTimeout) {
        this(builder()
                .connectionProvider(connectionProvider)
                .eventStore(eventStore)
                .handler(handler)
                .skipRecent(skipRecent)
                .batchSize(batchSize)
                .intervalMs(intervalMs)
                .metrics(metrics)
                .ownerId(ownerId)
                .lockTimeout(lockTimeout));
    }

    private OutboxPoller(Builder builder) {
        this(builder, builder.lockTimeout);
    }

    private OutboxPoller(Builder builder, @Nullable Duration lockTimeout) {
        this.lockTimeout = lockTimeout;
        this.intervalMs = builder.intervalMs;
        this.metrics = GuardedMetrics.of(builder.metrics);
        EventStore store = Objects.requireNonNull(builder.eventStore, "eventStore");
        this.access = access(builder, store, lockTimeout);
        EventSource source = source(access, store, builder, lockTimeout);
        OutboxPollerHandler handler = handler(builder);
        this.cycle = new PollCycle(source, handler, builder.batchSize, builder.backlogBatchSize, builder.metrics);
        handler.attached(this);
    }

    private static StoreAccess access(Builder builder, EventStore store, @Nullable Duration lockTimeout) {
        Duration lease = lockTimeout == null ? DEFAULT_LOCK_TIMEOUT : lockTimeout;
        if (builder.databaseTimeout != null) {
            StoreAccess.requireWithin(builder.databaseTimeout, lease, "lockTimeout");
        }
        Duration timeout = StoreAccess.timeoutWithin(lease, builder.databaseTimeout);
        return new StoreAccess(
                Objects.requireNonNull(builder.connectionProvider, "connectionProvider"), store, () -> timeout);
    }

    private static EventSource source(
            StoreAccess access, EventStore store, Builder builder, @Nullable Duration lockTimeout) {
        if (lockTimeout == null) {
            if (handler(builder).ordering().isOn()) { // what waits would be read again and again, and nothing behind it
                throw new IllegalArgumentException(
                        "Delivery in order needs a poller that claims, and this one has no lockTimeout:"
                                + " use OutboxPoller.builder(), or the constructor that takes a lockTimeout");
            }
            return new PlainSource(access, store, builder.skipRecent, null);
        }
        if (store instanceof LeasingEventStore leasing) {
            return new ClaimingSource(
                    access, leasing, builder.skipRecent, lockTimeout, builder.ownerId, handler(builder));
        }
        String owner = builder.ownerId != null ? builder.ownerId : "poller-" + Ulid.next();
        return new PlainSource(access, store, builder.skipRecent, new PlainSource.Lock(owner, lockTimeout));
    }

    private static OutboxPollerHandler handler(Builder builder) {
        return Objects.requireNonNull(builder.handler, "handler");
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Starts polling on a thread of its own; no effect if it runs already. */
    public void start() {
        if (!state.compareAndSet(State.NEW, State.RUNNING)) {
            if (state.get() == State.CLOSED) {
                throw new IllegalStateException("The poller is closed and cannot be started again; build a new one");
            }
            return;
        }
        lookedNanos = sinceStart(); // it has its time from now on
        metrics.recordPoll();
        Threads.named(Threads.nextName(), "poller").newThread(this::run).start();
    }

    /** Runs a single cycle on the calling thread. What fails is logged, not thrown. */
    public void poll() {
        pollOnce();
    }

    /** Makes the next cycle come at once. */
    public void wake() {
        woken.set(true);
        signals.release();
    }

    /** Makes a cycle come at the given time of the database's clock, if none comes before. */
    public void wakeAt(Instant time) {
        wakeAfter(access.until(time));
    }

    /** Makes a cycle come after the given time, if none comes before. */
    public void wakeAfter(Duration time) {
        if (time.compareTo(LONGEST_PAUSE) < 0) { // else the interval ends before
            lowerDue(time);
            signals.release();
        }
    }

    private void lowerDue(Duration time) {
        long due = sinceStart() + (time.isNegative() ? 0 : time.toNanos()); // what is past may be centuries past
        dueNanos.accumulateAndGet(due, Math::min);
    }

    private long sinceStart() {
        return System.nanoTime() - startNanos;
    }

    /** How this poller is doing, without I/O. */
    public PollerStatus status() {
        long looked = lookedNanos;
        return new PollerStatus(
                state.get() == State.RUNNING,
                Duration.ofMillis(intervalMs),
                looked == NOT_YET ? null : Duration.ofNanos(Math.max(0, sinceStart() - looked)),
                lastError);
    }

    /** How long a claim lasts; null for a poller without claims. */
    public @Nullable Duration lockTimeout() {
        return lockTimeout;
    }

    /** Stops polling and waits for the cycle that runs, bounded by the time limit of its database calls. Idempotent. */
    @Override
    public void close() {
        State before = state.getAndSet(State.CLOSED);
        if (before == State.NEW) {
            ended.countDown(); // it never ran
        }
        wake();
        if (polling.isHeldByCurrentThread()) {
            return; // called by the handler, in the loop or in a cycle run by hand: the loop cannot end before this
            // cycle
        }
        try {
            if (!ended.await(StoreAccess.patience().toNanos(), TimeUnit.NANOSECONDS)) {
                LOG.log(Level.WARNING, "The last poll cycle has not ended yet; it goes on in the background");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        pauseMs = intervalMs;
        try {
            while (state.get() == State.RUNNING) {
                cycleNanos = sinceStart();
                PollCycle.Result result = pollOnce();
                if (result != PollCycle.Result.FULL) {
                    pause(result, cycleNanos + dueGap(sinceStart() - cycleNanos));
                }
            }
        } finally {
            ended.countDown();
        }
    }

    private PollCycle.Result pollOnce() {
        polling.lock();
        try {
            if (state.get() == State.CLOSED) {
                return PollCycle.Result.NOTHING;
            }
            dueNanos.set(NEVER); // what is told from here on may come too late for this cycle
            PollCycle.Result result = cycle.run();
            if (result == PollCycle.Result.LEADERLESS) {
                lastError = "Cannot find out who leads";
            } else {
                lookedNanos = sinceStart();
                lastError = null;
                metrics.recordPoll();
            }
            Duration untilNext = cycle.untilNext();
            if (untilNext != null && untilNext.compareTo(LONGEST_PAUSE) < 0) {
                lowerDue(untilNext);
            }
            return result;
        } catch (RuntimeException | Error e) {
            lastError = firstLine(e);
            trouble.log(Level.ERROR, "A poll cycle failed; the next one comes in " + intervalMs + " ms or sooner", e);
            return PollCycle.Result.NOTHING;
        } finally {
            polling.unlock();
        }
    }

    /** What follows it in an error of a database may quote rows. */
    private static String firstLine(Throwable failure) {
        return ErrorText.of(failure).lines().findFirst().orElse("");
    }

    private static boolean isStandby(PollCycle.Result result) {
        return result == PollCycle.Result.STANDBY || result == PollCycle.Result.LEADERLESS;
    }

    /** How long after the start of a cycle the next one comes that is there because something is due: many due times share a cycle. */
    private static long dueGap(long tookNanos) {
        return Math.max(MIN_DUE_GAP_NANOS, Math.min(MAX_DUE_GAP_NANOS, DUE_GAP_FACTOR * tookNanos));
    }

    /** Where there was something, there is often more to come: a retry, or the next event of an aggregate. When the table tells what becomes due before that, the pause ends then. */
    private void pause(PollCycle.Result result, long earliestDueNanos) {
        pauseMs = result == PollCycle.Result.SOME
                ? Math.max(1, intervalMs / BUSY_DIVISOR)
                : Math.min(intervalMs, pauseMs * 2);
        long spread = pauseMs / 5;
        long most = isStandby(result) ? 0 : spread; // a standby is there within the interval
        long millis = pauseMs + ThreadLocalRandom.current().nextLong(-spread, most + 1);
        long end = sinceStart() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (!woken.getAndSet(false)) {
            long due = dueNanos.get();
            long left = Math.min(end, Math.max(due, earliestDueNanos)) - sinceStart();
            if (left <= 0) {
                return;
            }
            try {
                if (signals.tryAcquire(left, TimeUnit.NANOSECONDS)) {
                    signals.drainPermits();
                }
            } catch (InterruptedException e) {
                LOG.log(Level.DEBUG, "Interrupt ignored: the poller ends by close", e);
            }
        }
    }

    /** Collects the settings of a poller that claims; every setter refuses a wrong value. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofDays(365);

        private @Nullable ConnectionProvider connectionProvider;
        private @Nullable EventStore eventStore;
        private @Nullable OutboxPollerHandler handler;
        private Duration skipRecent = Duration.ZERO;
        private int batchSize = 50;
        private int backlogBatchSize = 1000;
        private long intervalMs = 5000;
        private MetricsExporter metrics = MetricsExporter.NOOP;
        private @Nullable String ownerId;
        private Duration lockTimeout = DEFAULT_LOCK_TIMEOUT;
        private @Nullable Duration databaseTimeout;

        private Builder() {}

        /** Required. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /** Required. */
        public Builder eventStore(EventStore eventStore) {
            this.eventStore = Objects.requireNonNull(eventStore, "eventStore");
            return this;
        }

        /** Required. */
        public Builder handler(OutboxPollerHandler handler) {
            this.handler = Objects.requireNonNull(handler, "handler");
            return this;
        }

        /** Leaves events alone that were stored less than this ago; default zero. */
        public Builder skipRecent(Duration skipRecent) {
            if (skipRecent.isNegative() || skipRecent.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "skipRecent must not be negative, and at most a year: " + skipRecent);
            }
            this.skipRecent = skipRecent;
            return this;
        }

        /** How many events a cycle takes at most; default 50, and after a full batch as many as there is room for, up to 1000. */
        public Builder batchSize(int batchSize) {
            if (batchSize <= 0) {
                throw new IllegalArgumentException("batchSize must be positive: " + batchSize);
            }
            this.batchSize = batchSize;
            this.backlogBatchSize = batchSize;
            return this;
        }

        /** How long the poller waits while there is nothing to do, give or take a fifth; default 5000. It waits less after a cycle that found something. */
        public Builder intervalMs(long intervalMs) {
            if (intervalMs <= 0 || intervalMs > LONGEST.toMillis()) {
                throw new IllegalArgumentException("intervalMs must be positive and at most a year: " + intervalMs);
            }
            this.intervalMs = intervalMs;
            return this;
        }

        /**
         * Default: {@link MetricsExporter#NOOP}. Counts events that the handler took, unless the dispatcher has the
         * same exporter and counts them on the poller's thread.
         */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /** Names this node in {@code locked_by}; default: generated. */
        public Builder ownerId(@Nullable String ownerId) {
            this.ownerId = ownerId;
            return this;
        }

        /** How long a claim lasts without renewal before another node may take the event; default 5 minutes. The same on all nodes. */
        public Builder lockTimeout(@Nullable Duration lockTimeout) {
            if (lockTimeout != null
                    && (lockTimeout.isZero() || lockTimeout.isNegative() || lockTimeout.compareTo(LONGEST) > 0)) {
                throw new IllegalArgumentException("lockTimeout must be positive and at most a year: " + lockTimeout);
            }
            this.lockTimeout = lockTimeout == null ? DEFAULT_LOCK_TIMEOUT : lockTimeout;
            return this;
        }

        /**
         * How long the poller waits for an answer of the database before it gives the connection up. Default 5 s, or
         * half of {@link #lockTimeout} if that is shorter, but at least 1 s.
         * At most half of {@link #lockTimeout}.
         */
        public Builder databaseTimeout(Duration databaseTimeout) {
            if (databaseTimeout.isZero() || databaseTimeout.isNegative()) {
                throw new IllegalArgumentException("databaseTimeout must be positive: " + databaseTimeout);
            }
            this.databaseTimeout = databaseTimeout;
            return this;
        }

        public OutboxPoller build() {
            return new OutboxPoller(this);
        }
    }
}
