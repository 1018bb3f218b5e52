package outbox.purge;

import org.jspecify.annotations.Nullable;
import outbox.internal.GuardedMetrics;
import outbox.internal.QuietLog;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.spi.AdminEventStore;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Deletes delivered events once they are past their retention, and dead ones only if a retention is set for them too. Pending events are never deleted.
 *
 * <p>The age of an event counts from when it became DONE or DEAD, by the database's clock, never from when it was written. Rows without that time, which only a foreign writer leaves,
 * stay. Events go in small transactions, so that neither writers nor marks wait for long, and with rests between them. Any number of nodes may purge the same table.
 *
 * <p>Thread-safe. {@link #purge()} may be called by hand, with or without {@link #start()}.
 */
public final class OutboxPurge implements AutoCloseable {

    private enum State {
        NEW,
        RUNNING,
        CLOSED
    }

    private static final Logger LOG = SafeLogger.of(OutboxPurge.class);

    private final PurgeRun run;
    private final MetricsExporter metrics;
    private final Duration interval;
    private final QuietLog trouble = new QuietLog(LOG);
    private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
    private final CountDownLatch closing = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);

    private OutboxPurge(Builder builder) {
        ConnectionProvider connections = required("connectionProvider", builder.connectionProvider);
        EventStore store = required("eventStore", builder.eventStore);
        this.metrics = GuardedMetrics.of(builder.metrics);
        this.run = new PurgeRun(
                new StoreAccess(connections, store),
                AdminEventStore.require(store),
                builder.retention,
                builder.deadRetention,
                builder.batchSize,
                metrics);
        this.interval = builder.interval;
    }

    private static <T> T required(String setting, @Nullable T value) {
        if (value == null) {
            throw new IllegalArgumentException(setting + " is required");
        }
        return value;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Purges at once and then at every interval, on a thread of its own; no effect if it runs already. */
    public void start() {
        if (!state.compareAndSet(State.NEW, State.RUNNING)) {
            if (state.get() == State.CLOSED) {
                throw new IllegalStateException("The purge is closed and cannot be started again; build a new one");
            }
            return;
        }
        metrics.recordPurged(0); // it has its time from now on
        Threads.named(Threads.nextName(), "purge").newThread(this::loop).start();
    }

    /**
     * Deletes, batch by batch, all that is past its retention, on the calling thread; ends early if the purge is closed meanwhile.
     *
     * @throws outbox.OutboxException if a batch failed; what earlier batches deleted stays deleted
     * @throws IllegalStateException if it is closed
     */
    public PurgeResult purge() {
        if (!isOpen()) {
            throw new IllegalStateException("The purge is closed; build a new one");
        }
        return run.run(this::isOpen);
    }

    /** Ends purging after the current batch, for which it waits, bounded by the time limit of its database calls. Idempotent. */
    @Override
    public void close() {
        if (state.getAndSet(State.CLOSED) == State.NEW) {
            ended.countDown(); // it never ran
        }
        closing.countDown();
        try {
            if (!ended.await(StoreAccess.patience().toNanos(), TimeUnit.NANOSECONDS)) {
                LOG.log(Level.WARNING, "The last batch of the purge has not ended yet; it goes on in the background");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isOpen() {
        return state.get() != State.CLOSED;
    }

    private void loop() {
        try {
            do {
                runQuietly();
            } while (!closesWithin(pauseNanos()));
        } finally {
            ended.countDown();
        }
    }

    private void runQuietly() {
        try {
            PurgeResult result = run.run(this::isOpen);
            LOG.log(Level.DEBUG, "Purged {0} DONE and {1} DEAD events", result.done(), result.dead());
        } catch (RuntimeException | Error e) {
            trouble.log(Level.WARNING, "The purge failed; it is tried again in about " + interval, e);
        }
    }

    /** Spread by a tenth either way, so that nodes do not keep in step. */
    private long pauseNanos() {
        long nanos = interval.toNanos();
        return nanos + ThreadLocalRandom.current().nextLong(-nanos / 10, nanos / 10 + 1);
    }

    private boolean closesWithin(long nanos) {
        try {
            return closing.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: the purge ends by close", e);
            return !isOpen();
        }
    }

    /** Collects the settings of a purge; every setter refuses a wrong value. Not thread-safe. */
    public static final class Builder {

        private static final Duration MAX_DURATION =
                Duration.ofDays(36_500); // times stay within every database's range

        private @Nullable ConnectionProvider connectionProvider;
        private @Nullable EventStore eventStore;
        private Duration retention = Duration.ofDays(7);
        private @Nullable Duration deadRetention;
        private int batchSize = 100;
        private Duration interval = Duration.ofMinutes(10);
        private MetricsExporter metrics = MetricsExporter.NOOP;

        private Builder() {}

        /** Required. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /** Required; an {@link AdminEventStore}. */
        public Builder eventStore(EventStore eventStore) {
            this.eventStore = AdminEventStore.require(eventStore);
            return this;
        }

        /** How long delivered events are kept, from 0 to 100 years; default 7 days. */
        public Builder retention(Duration retention) {
            this.retention = check("retention", retention);
            return this;
        }

        /** How long dead events are kept, from 0 to 100 years; default: for ever, since each is one that a person should see. */
        public Builder deadRetention(Duration deadRetention) {
            this.deadRetention = check("deadRetention", deadRetention);
            return this;
        }

        /** How many events a transaction deletes at most, 1 to 10000; default 100. Larger ones delete more in the same time, and writers wait longer for the log when they meet one. */
        public Builder batchSize(int batchSize) {
            if (batchSize < 1 || batchSize > 10_000) {
                throw new IllegalArgumentException("batchSize must be between 1 and 10000: " + batchSize);
            }
            this.batchSize = batchSize;
            return this;
        }

        /** How long the purge waits after a run, give or take a tenth; default 10 minutes. */
        public Builder interval(Duration interval) {
            if (check("interval", interval).isZero()) {
                throw new IllegalArgumentException("interval must be positive: " + interval);
            }
            this.interval = interval;
            return this;
        }

        /** Told what is deleted and what fails; default: {@link MetricsExporter#NOOP}. */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        private static Duration check(String setting, Duration value) {
            if (value.isNegative() || value.compareTo(MAX_DURATION) > 0) {
                throw new IllegalArgumentException(
                        setting + " must be between 0 and " + MAX_DURATION.toDays() + " days: " + value);
            }
            return value;
        }

        public OutboxPurge build() {
            return new OutboxPurge(this);
        }
    }
}
