package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.RetryPolicy;
import outbox.poller.OutboxPoller;
import outbox.registry.ListenerRegistry;
import outbox.runtime.OutboxRuntime;
import outbox.spi.MetricsExporter;
import outbox.spi.TxContext;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A complete outbox in memory: a {@link MemoryEventStore} with a writer, a dispatcher and a poller.
 *
 * <p>Events are delivered as soon as their transaction has committed, by priority and then by due time, up to 100 at
 * a time. The poller also checks every two seconds. A failed event is tried again after 1 s, 5 s, 30 s and 2 min (10
 * min with more attempts). After five attempts in total it is DEAD and logged. Delivered events are deleted at once.
 * Events that are not delivered when the process ends are lost: facts that must take effect need a reconciliation.
 *
 * <p>For other features, such as ordering, circuit breakers or the hot path, wire the store yourself, like any other
 * store: see {@link OutboxDispatcher}.
 */
public final class MemoryOutbox implements AutoCloseable {

    private final MemoryEventStore store;
    private final TxContext txContext;
    private final OutboxRuntime runtime;
    private final OutboxWriter writer;
    private final MemoryTransactions single; // for writes outside a transaction
    private final OutboxWriter singleWriter;
    private final boolean enabled;

    private MemoryOutbox(Builder builder) {
        enabled = builder.enabled;
        if (!enabled) {
            builder.store.whenFull(WhenFull.DROP);
        }
        store = builder.store.metrics(builder.metrics).build();
        TxContext given = builder.txContext;
        txContext = given != null ? given : new MemoryTransactions(store);
        runtime = OutboxRuntime.builder(store.connections(), store)
                .metrics(builder.metrics)
                .dispatcher(dispatching -> dispatching
                        .listenerRegistry(builder.registry)
                        .retryPolicy(RetryPolicy.series(builder.backoff))
                        .maxAttempts(builder.maxAttempts)
                        .interceptor(new DeliveryLog())
                        .deleteDone(true))
                .poller(polling -> polling.batchSize(builder.batchSize).intervalMs(builder.interval.toMillis()))
                .build();
        Waking hook = new Waking(runtime.poller());
        writer = new OutboxWriter(txContext, store, hook).countedBy(builder.metrics);
        single = new MemoryTransactions(store);
        singleWriter = new OutboxWriter(single, store, hook).countedBy(builder.metrics);
    }

    /**
     * Wakes the poller after a commit. Only the poller delivers events, so that all events are
     * delivered by priority.
     */
    private record Waking(OutboxPoller poller) implements AfterCommitHook {

        @Override
        public void onCommit(EventEnvelope event) {
            poller.wake();
        }

        @Override
        public void onScheduled(Instant availableAt) {
            poller.wakeAt(availableAt);
        }
    }

    /** Returns a builder for an outbox that delivers to the listeners of the registry. */
    public static Builder builder(ListenerRegistry registry) {
        return new Builder(registry);
    }

    /** Starts the delivery. Has no effect if it is already started, or if the outbox is not enabled. */
    public void start() {
        if (enabled) {
            runtime.start();
        }
    }

    public OutboxWriter writer() {
        return writer;
    }

    /**
     * Writes an event in the transaction of this thread. Without a transaction, the write has its own transaction,
     * which is committed when this method returns. {@link #writer} refuses to write without a transaction, like
     * every outbox in a database. Use it for code that may move to a database later.
     *
     * @return the id of the event, or of the event that already holds its dedupKey
     */
    public String write(EventEnvelope event) {
        return txContext.isTransactionActive() ? writer.write(event) : single.call(() -> singleWriter.write(event));
    }

    /** Writes several events in one transaction, under the same rules as {@link #write}. */
    public List<String> writeAll(List<EventEnvelope> events) {
        return txContext.isTransactionActive()
                ? writer.writeAll(events)
                : single.call(() -> singleWriter.writeAll(events));
    }

    public MemoryEventStore store() {
        return store;
    }

    /**
     * Returns the transactions of this outbox, for a program without a database.
     *
     * @throws IllegalStateException if the outbox joins the transactions of another context
     */
    public MemoryTransactions transactions() {
        if (txContext instanceof MemoryTransactions ours) {
            return ours;
        }
        throw new IllegalStateException(
                "This outbox joins the transactions of " + txContext.getClass().getName() + "; begin them there");
    }

    /** Stops the delivery. Running listeners and queued events have 5 s to finish. All other events are lost. */
    @Override
    public void close() {
        runtime.close();
    }

    /** Collects the settings. Every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofDays(1);

        private final ListenerRegistry registry;
        private final MemoryEventStore.Builder store = MemoryEventStore.builder();
        private @Nullable TxContext txContext;
        private boolean enabled = true;
        private Duration interval = MemorySettings.DEFAULT_INTERVAL;
        private int batchSize = MemorySettings.DEFAULT_BATCH;
        private int maxAttempts = MemorySettings.DEFAULT_ATTEMPTS;
        private List<Duration> backoff = MemorySettings.DEFAULT_BACKOFF;
        private MetricsExporter metrics = MetricsExporter.NOOP;

        private Builder(ListenerRegistry registry) {
            this.registry = Objects.requireNonNull(registry, "registry");
        }

        /** The transactions that writes join; default {@link MemoryOutbox#transactions}. */
        public Builder joining(TxContext txContext) {
            this.txContext = Objects.requireNonNull(txContext, "txContext");
            store.joining(txContext);
            return this;
        }

        /**
         * Default true. If false, no event is delivered, and events without room are dropped. {@code INTEV_ENABLED}.
         */
        public Builder enabled(boolean enabled) {
            this.enabled = enabled;
            return this;
        }

        /**
         * Pause of the poller while there are no events, plus or minus 20 %. At most one day; default 2 s.
         * {@code INTEV_DISPATCH_INTERVAL_MS}.
         */
        public Builder interval(Duration interval) {
            if (interval.compareTo(Duration.ofMillis(1)) < 0 || interval.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException("interval must be between a millisecond and a day: " + interval);
            }
            this.interval = interval;
            return this;
        }

        /** Maximum number of events per poll cycle; default 100. {@code INTEV_BATCH_SIZE}. */
        public Builder batchSize(int batchSize) {
            if (batchSize < 1) {
                throw new IllegalArgumentException("batchSize must be positive: " + batchSize);
            }
            this.batchSize = batchSize;
            return this;
        }

        /** Number of failed attempts after which an event is DEAD; default 5. {@code INTEV_MAX_ATTEMPTS}. */
        public Builder maxAttempts(int maxAttempts) {
            if (maxAttempts < 1) {
                throw new IllegalArgumentException("maxAttempts must be at least 1: " + maxAttempts);
            }
            this.maxAttempts = maxAttempts;
            return this;
        }

        /**
         * Delays after failed attempts; the last one repeats. Default: 1 s, 5 s, 30 s, 2 min, 10 min.
         * {@code INTEV_BACKOFF_SERIES}, in milliseconds.
         */
        public Builder backoff(List<Duration> backoff) {
            RetryPolicy.series(backoff); // rejects invalid values
            this.backoff = List.copyOf(backoff);
            return this;
        }

        /**
         * Applies the settings whose names begin with {@code INTEV_}, usually from {@code System.getenv()}. Ignores
         * other names. Rejects unknown names that begin with {@code INTEV_}.
         */
        public Builder settings(Map<String, String> values) {
            MemorySettings.of(values).applyTo(this);
            return this;
        }

        /** See {@link MemoryEventStore.Builder#maxEvents}. */
        public Builder maxEvents(int maxEvents) {
            store.maxEvents(maxEvents);
            return this;
        }

        /** See {@link MemoryEventStore.Builder#maxBytes}. */
        public Builder maxBytes(long maxBytes) {
            store.maxBytes(maxBytes);
            return this;
        }

        /** See {@link MemoryEventStore.Builder#whenFull}. */
        public Builder whenFull(WhenFull whenFull) {
            store.whenFull(whenFull);
            return this;
        }

        /**
         * Receives the counts of writes, attempts, dead events and dropped events; default
         * {@link MetricsExporter#NOOP}.
         */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        public MemoryOutbox build() {
            return new MemoryOutbox(this);
        }
    }
}
