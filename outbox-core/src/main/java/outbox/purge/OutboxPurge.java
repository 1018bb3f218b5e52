package outbox.purge;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration;
import outbox.internal.GuardedMetrics;
import outbox.internal.Loop;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Deletes delivered events after their retention. Deletes dead events only if a retention is set for them. Never
 * deletes pending events.
 *
 * <p>The age of an event counts from the time when it became DONE or DEAD, by the database's clock. Rows without
 * that time are kept; only another program can have written them. The purge uses small transactions with pauses
 * between them, so that neither writers nor marks wait for long. Any number of nodes may purge the same table.
 *
 * <p>Thread-safe. {@link #purge()} may be called directly, with or without {@link #start()}.
 */
public final class OutboxPurge implements AutoCloseable {

    private static final Logger LOG = SafeLogger.of(OutboxPurge.class);

    private final PurgeRun run;
    private final MetricsExporter metrics;
    private final Duration interval;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final Loop loop = new Loop(
            "purge", Threads.named(Threads.nextName(), "purge"), Loop.Step.every(this::pauseNanos, this::round));

    private OutboxPurge(Builder builder) {
        ConnectionProvider connections = required("connectionProvider", builder.connectionProvider);
        EventStore store = required("eventStore", builder.eventStore);
        this.metrics = GuardedMetrics.of(builder.metrics);
        this.run = new PurgeRun(
                new StoreAccess(connections, store),
                store,
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

    /**
     * Purges at once and then at every interval, on a separate thread. Has no effect if the purge is
     * already running.
     */
    public void start() {
        if (!loop.isStarted() && !loop.isClosed()) {
            metrics.recordPurged(0); // the first run is not late before one interval has passed
        }
        loop.start();
    }

    /**
     * Deletes all events that are past their retention, in batches, on the calling thread. Ends early if the
     * purge is closed.
     *
     * @throws outbox.OutboxException if a batch failed; the events of earlier batches stay deleted
     * @throws IllegalStateException if the purge is closed
     */
    public Result purge() {
        if (!isOpen()) {
            throw new IllegalStateException("The purge is closed; build a new one");
        }
        return run.run(this::isOpen);
    }

    /**
     * Stops purging after the current batch and waits for that batch. The wait is bounded by the timeout of the
     * database calls. Idempotent.
     */
    @Override
    public void close() {
        loop.close(StoreAccess.patience());
    }

    private boolean isOpen() {
        return !loop.isClosed();
    }

    private void round() {
        try {
            Result result = run.run(this::isOpen);
            LOG.log(Level.DEBUG, "Purged {0} DONE and {1} DEAD events", result.done(), result.dead());
        } catch (RuntimeException | Error e) {
            trouble.log(Level.WARNING, "The purge failed; it is tried again in about " + interval, e);
        }
    }

    /** Varies the interval by up to 10 % in both directions, so that nodes do not purge at the same time. */
    private long pauseNanos() {
        long nanos = interval.toNanos();
        return nanos + ThreadLocalRandom.current().nextLong(-nanos / 10, nanos / 10 + 1);
    }

    /** Collects the settings of a purge. Every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private static final Duration MAX_DURATION =
                Duration.ofDays(36_500); // keeps times within the range of every database

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

        /** Required; a store with {@link EventAdministration}. */
        public Builder eventStore(EventStore eventStore) {
            EventAdministration.of(eventStore);
            this.eventStore = eventStore;
            return this;
        }

        /** How long delivered events are kept, from 0 to 100 years; default 7 days. */
        public Builder retention(Duration retention) {
            this.retention = check("retention", retention);
            return this;
        }

        /**
         * How long dead events are kept, from 0 to 100 years. Default: forever, because a person should see
         * each of them.
         */
        public Builder deadRetention(Duration deadRetention) {
            this.deadRetention = check("deadRetention", deadRetention);
            return this;
        }

        /**
         * Maximum number of events per transaction, 1 to 10000; default 100. Larger batches delete more in the same
         * time, but concurrent writers wait longer for the transaction log.
         */
        public Builder batchSize(int batchSize) {
            if (batchSize < 1 || batchSize > 10_000) {
                throw new IllegalArgumentException("batchSize must be between 1 and 10000: " + batchSize);
            }
            this.batchSize = batchSize;
            return this;
        }

        /** Pause after each run, plus or minus 10 %; default 10 minutes. */
        public Builder interval(Duration interval) {
            if (check("interval", interval).isZero()) {
                throw new IllegalArgumentException("interval must be positive: " + interval);
            }
            this.interval = interval;
            return this;
        }

        /** Receives the counts of deleted events and of failures; default {@link MetricsExporter#NOOP}. */
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

    /** The number of events that a run deleted, by status. */
    public record Result(long done, long dead) {

        public Result {
            if (done < 0 || dead < 0) {
                throw new IllegalArgumentException("Counts must not be negative: " + done + ", " + dead);
            }
        }

        /** Returns the sum of both. */
        public long total() {
            return done + dead;
        }
    }
}
