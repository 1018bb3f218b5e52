package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.ErrorLine;
import outbox.internal.GuardedMetrics;
import outbox.internal.Loop;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.internal.ThrottledLog;
import outbox.internal.Ulid;
import outbox.internal.text.SafeLogger;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The cold path: finds due events in the table and hands them to a handler. An event is therefore delivered even if
 * the process that wrote it has ended.
 *
 * <p>After a full batch, the next cycle follows at once. After a batch with some events, it follows soon. While
 * there are no events, the pauses grow up to the interval. Pauses vary at random, so that nodes do not poll at the
 * same time. A cycle takes no more events than the handler has room for. If a cycle fails, the poller logs the
 * failure and continues with the next cycle; no event is lost. With claims, any number of pollers can share a table.
 * With a {@link PollerNeeds#leadership}, only the leader polls and the other nodes stand by.
 *
 * <p>Thread-safe. {@link #poll()} may be called directly, with or without {@link #start()}.
 */
public final class OutboxPoller implements AutoCloseable, PollerNeeds.Poller {

    private static final Logger LOG = SafeLogger.of(OutboxPoller.class);
    private static final int BUSY_DIVISOR = 16;
    private static final long MIN_DUE_GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_DUE_GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    // multiple of the duration of a cycle, so that a busy database gets fewer queries
    private static final int DUE_GAP_FACTOR = 5;
    private static final long NEVER = Long.MAX_VALUE;
    private static final long NOT_YET = -1;
    private static final Duration DEFAULT_LOCK_TIMEOUT = Duration.ofMinutes(5);
    private static final Duration LONGEST_PAUSE = Duration.ofDays(1);

    private final PollCycle cycle;
    private final MetricsExporter metrics;
    private final StoreAccess access;
    private final long intervalMs;
    private final @Nullable Duration lockTimeout;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final Loop loop;
    private final long startNanos = System.nanoTime();
    // when the next event becomes due, in nanoseconds since startNanos; cycles reset it, and any thread may lower it
    private final AtomicLong dueNanos = new AtomicLong(NEVER);
    private final ReentrantLock polling = new ReentrantLock(); // held during a cycle
    // end of the last successful cycle, in nanoseconds since startNanos; start and cycles write it, any
    // thread reads it
    private volatile long lookedNanos = NOT_YET;
    private volatile @Nullable String lastError; // why the last cycle failed; written by cycles, read by any thread
    /**
     * Creates a poller without claims. It must be the only poller of the table, and it refuses a handler that
     * delivers in order.
     */
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
     * Creates a poller that claims events. Any number of such pollers can share a table.
     *
     * @param ownerId the name of this node in {@code locked_by}; null generates a name
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
        this.loop = new Loop("poller", Threads.named(Threads.nextName(), "poller"), new Cycles());
        this.metrics = GuardedMetrics.of(builder.metrics);
        EventStore store = Objects.requireNonNull(builder.eventStore, "eventStore");
        this.access = access(builder, store, lockTimeout);
        OutboxPollerHandler handler = Objects.requireNonNull(builder.handler, "handler");
        KnownNeeds needs = new KnownNeeds(this);
        EventSource source = source(access, store, builder, lockTimeout, needs);
        this.cycle =
                new PollCycle(source, handler, needs, builder.batchSize, builder.backlogBatchSize, builder.metrics);
        PollerNeeds known = handler.needs();
        if (known != null) {
            needs.declare(known);
        }
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
            StoreAccess access, EventStore store, Builder builder, @Nullable Duration lockTimeout, KnownNeeds needs) {
        if (lockTimeout == null) {
            return new PlainSource(access, store, builder.skipRecent, null);
        }
        if (store.capability(LeasingEventStore.class).isPresent()) {
            return new ClaimingSource(access, store, builder.skipRecent, lockTimeout, builder.ownerId, needs);
        }
        String owner = builder.ownerId != null ? builder.ownerId : "poller-" + Ulid.next();
        return new PlainSource(access, store, builder.skipRecent, new PlainSource.Lock(owner, lockTimeout));
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Starts polling on a separate thread. Has no effect if the poller is already running. */
    public void start() {
        if (!loop.isStarted() && !loop.isClosed()) {
            lookedNanos = sinceStart(); // the first cycle is not late before one interval has passed
            metrics.recordPoll();
        }
        loop.start();
    }

    /** Runs one cycle on the calling thread. Failures are logged, not thrown. */
    public void poll() {
        pollOnce();
    }

    /** Starts the next cycle at once. */
    @Override
    public void wake() {
        loop.wake();
    }

    /** Starts the next cycle at the given time of the database's clock, unless one starts earlier. */
    @Override
    public void wakeAt(Instant time) {
        wakeAfter(access.until(time));
    }

    /** Starts the next cycle after the given duration, unless one starts earlier. */
    @Override
    public void wakeAfter(Duration time) {
        if (time.compareTo(LONGEST_PAUSE) < 0) { // otherwise the interval ends earlier
            lowerDue(time);
            loop.signal();
        }
    }

    private void lowerDue(Duration time) {
        // a duration in the distant past does not fit into nanoseconds
        long due = sinceStart() + (time.isNegative() ? 0 : time.toNanos());
        dueNanos.accumulateAndGet(due, Math::min);
    }

    private long sinceStart() {
        return System.nanoTime() - startNanos;
    }

    /** Returns the state of this poller, without I/O. */
    public Status status() {
        long looked = lookedNanos;
        return new Status(
                loop.isStarted(),
                Duration.ofMillis(intervalMs),
                looked == NOT_YET ? null : Duration.ofNanos(Math.max(0, sinceStart() - looked)),
                lastError);
    }

    /** Returns how long a claim lasts, or null for a poller without claims. */
    @Override
    public @Nullable Duration lockTimeout() {
        return lockTimeout;
    }

    /**
     * Stops polling and waits for the current cycle. The wait is bounded by the timeout of the database
     * calls. Idempotent.
     */
    @Override
    public void close() {
        loop.closeNow();
        // otherwise the handler called this method, and the loop cannot end before this cycle does
        if (!polling.isHeldByCurrentThread()) {
            loop.close(StoreAccess.patience());
        }
    }

    private PollCycle.Result pollOnce() {
        polling.lock();
        try {
            if (loop.isClosed()) {
                return PollCycle.Result.NOTHING;
            }
            // before the cycle: a wake-up from now on may be too late for this cycle, so it must be kept
            dueNanos.set(NEVER);
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
            lastError = ErrorLine.of(e);
            trouble.log(Level.ERROR, "A poll cycle failed; the next one comes in " + intervalMs + " ms or sooner", e);
            return PollCycle.Result.NOTHING;
        } finally {
            polling.unlock();
        }
    }

    /** Runs cycles. The pause after a cycle depends on its result. Only the loop thread uses the fields. */
    private final class Cycles implements Loop.Step {

        private long pauseMs = intervalMs;
        private long endNanos; // end of the pause, in nanoseconds since startNanos
        private long earliestDueNanos; // a due event alone starts no cycle before this time

        @Override
        public void run() {
            long began = sinceStart();
            PollCycle.Result result = pollOnce();
            long ended = sinceStart();
            earliestDueNanos = began + dueGap(ended - began);
            endNanos = result == PollCycle.Result.FULL ? ended : ended + nextPause(result);
        }

        /** The pause ends early if an event becomes due. */
        @Override
        public long pauseNanos() {
            return Math.min(endNanos, Math.max(dueNanos.get(), earliestDueNanos)) - sinceStart();
        }

        /** After some events, more often follow soon: a retry, or the next event of an aggregate. */
        private long nextPause(PollCycle.Result result) {
            pauseMs = result == PollCycle.Result.SOME
                    ? Math.max(1, intervalMs / BUSY_DIVISOR)
                    : Math.min(intervalMs, pauseMs * 2);
            long spread = pauseMs / 5;
            long most = isStandby(result) ? 0 : spread; // a standby must check the leadership within the interval
            return TimeUnit.MILLISECONDS.toNanos(
                    pauseMs + ThreadLocalRandom.current().nextLong(-spread, most + 1));
        }

        private static boolean isStandby(PollCycle.Result result) {
            return result == PollCycle.Result.STANDBY || result == PollCycle.Result.LEADERLESS;
        }

        /**
         * Returns the minimum time between the starts of two cycles that run only because events are due. Events
         * that become due within this time share a cycle.
         */
        private static long dueGap(long tookNanos) {
            return Math.max(MIN_DUE_GAP_NANOS, Math.min(MAX_DUE_GAP_NANOS, DUE_GAP_FACTOR * tookNanos));
        }
    }

    /** Collects the settings of a poller that claims. Every setter rejects invalid values. */
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

        /** Skips events that were stored more recently than this; default zero. */
        public Builder skipRecent(Duration skipRecent) {
            if (skipRecent.isNegative() || skipRecent.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "skipRecent must not be negative, and at most a year: " + skipRecent);
            }
            this.skipRecent = skipRecent;
            return this;
        }

        /**
         * Maximum number of events per cycle. Default: 50, but after a full batch as many as the handler has room
         * for, up to 1000.
         */
        public Builder batchSize(int batchSize) {
            if (batchSize <= 0) {
                throw new IllegalArgumentException("batchSize must be positive: " + batchSize);
            }
            this.batchSize = batchSize;
            this.backlogBatchSize = batchSize;
            return this;
        }

        /**
         * Pause in milliseconds while there are no events, plus or minus 20 %; default 5000. After a cycle that
         * found events, the pause is shorter.
         */
        public Builder intervalMs(long intervalMs) {
            if (intervalMs <= 0 || intervalMs > LONGEST.toMillis()) {
                throw new IllegalArgumentException("intervalMs must be positive and at most a year: " + intervalMs);
            }
            this.intervalMs = intervalMs;
            return this;
        }

        /**
         * Default: {@link MetricsExporter#NOOP}. Counts the events that the handler accepted. If the dispatcher uses
         * the same exporter, each event is counted once.
         */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /** The name of this node in {@code locked_by}; generated by default. */
        public Builder ownerId(@Nullable String ownerId) {
            this.ownerId = ownerId;
            return this;
        }

        /**
         * How long a claim lasts without renewal before another node may take the event; default 5 minutes. Use the
         * same value on all nodes.
         */
        public Builder lockTimeout(@Nullable Duration lockTimeout) {
            if (lockTimeout != null
                    && (lockTimeout.isZero() || lockTimeout.isNegative() || lockTimeout.compareTo(LONGEST) > 0)) {
                throw new IllegalArgumentException("lockTimeout must be positive and at most a year: " + lockTimeout);
            }
            this.lockTimeout = lockTimeout == null ? DEFAULT_LOCK_TIMEOUT : lockTimeout;
            return this;
        }

        /**
         * How long the poller waits for a reply of the database before it abandons the connection. At most half of
         * {@link #lockTimeout}. Default: 5 s, or half of {@link #lockTimeout} if that is shorter, but at least 1 s.
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

    /**
     * The state of a poller.
     *
     * @param running whether it was started and not closed
     * @param interval the pause while there are no events, plus or minus 20 %
     * @param sinceLook time since the last cycle that read the table, or that found another node as the leader; time
     *     since the start if there was no such cycle; null if the poller was never started or polled
     * @param lastError the first line of the error of the last cycle; null if it succeeded
     */
    public record Status(
            boolean running,
            Duration interval,
            @Nullable Duration sinceLook,
            @Nullable String lastError) {

        public Status {
            Objects.requireNonNull(interval, "interval");
        }
    }
}
