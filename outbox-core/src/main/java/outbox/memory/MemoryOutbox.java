package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.RetryPolicies;
import outbox.poller.OutboxPoller;
import outbox.registry.ListenerRegistry;
import outbox.spi.MetricsExporter;
import outbox.spi.TxContext;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * An outbox in memory, ready to use: a {@link MemoryEventStore} with a writer, a dispatcher and a poller.
 *
 * <p>Events go to their listeners by priority, then by due time, up to 100 at a time, as soon as their transaction has committed; whatever happens, the poller looks every two seconds. An event that
 * fails is tried again after 1 s, 5 s, 30 s and 2 min (10 min with more attempts), five attempts in all; then it is DEAD and logged. Delivered events are forgotten at once. What the process has not delivered when it
 * ends is lost: facts that must take effect need a reconciliation.
 *
 * <p>Other wiring, such as order, breakers or the hot path, is that of any store: see {@link OutboxDispatcher}.
 */
public final class MemoryOutbox implements AutoCloseable {

    private final MemoryEventStore store;
    private final TxContext txContext;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final OutboxWriter writer;
    private final MemoryTransactions single; // for a write outside a transaction
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
        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(store.connections())
                .eventStore(store)
                .listenerRegistry(builder.registry)
                .retryPolicy(RetryPolicies.series(builder.backoff))
                .maxAttempts(builder.maxAttempts)
                .metrics(builder.metrics)
                .interceptor(new DeliveryLog())
                .deleteDone(true)
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(store.connections())
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .batchSize(builder.batchSize)
                .intervalMs(builder.interval.toMillis())
                .metrics(builder.metrics)
                .build();
        writer = new OutboxWriter(txContext, store, new Waking(poller)).countedBy(builder.metrics);
        single = new MemoryTransactions(store);
        singleWriter = new OutboxWriter(single, store, new Waking(poller)).countedBy(builder.metrics);
    }

    /** Events go by the poller alone, so that all of them go by priority; it is told when there are some. */
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

    /** The listeners of the events. */
    public static Builder builder(ListenerRegistry registry) {
        return new Builder(registry);
    }

    /** Begins to deliver; no effect if it does already, or is not enabled. */
    public void start() {
        if (enabled) {
            poller.start();
        }
    }

    public OutboxWriter writer() {
        return writer;
    }

    /**
     * Writes an event in the transaction of this thread, or, if there is none, in one of its own that is committed
     * when this returns. {@link #writer} refuses the latter, as every outbox in a database does; use it
     * where the code is to move there.
     *
     * @return the id of the event, or of the one that has its dedupKey
     */
    public String write(EventEnvelope event) {
        return txContext.isTransactionActive() ? writer.write(event) : single.call(() -> singleWriter.write(event));
    }

    /** Writes events together, on the terms of {@link #write}. */
    public List<String> writeAll(List<EventEnvelope> events) {
        return txContext.isTransactionActive()
                ? writer.writeAll(events)
                : single.call(() -> singleWriter.writeAll(events));
    }

    public MemoryEventStore store() {
        return store;
    }

    /**
     * The transactions to write in, for a program without a database.
     *
     * @throws IllegalStateException if the outbox joins those of something else
     */
    public MemoryTransactions transactions() {
        if (txContext instanceof MemoryTransactions ours) {
            return ours;
        }
        throw new IllegalStateException(
                "This outbox joins the transactions of " + txContext.getClass().getName() + "; begin them there");
    }

    /** Stops; listeners that run, and events that wait for them in a queue, have 5 s to end. The rest is lost. */
    @Override
    public void close() {
        try {
            poller.close();
        } finally {
            dispatcher.close();
        }
    }

    /** Collects the settings; every setter refuses a wrong value. Not thread-safe. */
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

        /** Whose transactions the writes belong to; default: {@link MemoryOutbox#transactions}. */
        public Builder joining(TxContext txContext) {
            this.txContext = Objects.requireNonNull(txContext, "txContext");
            store.joining(txContext);
            return this;
        }

        /** Default true. Otherwise nothing is delivered, and what finds no room is dropped. {@code INTEV_ENABLED}. */
        public Builder enabled(boolean enabled) {
            this.enabled = enabled;
            return this;
        }

        /** How long the poller waits while nothing happens, give or take a fifth; at most a day, default 2 s. {@code INTEV_DISPATCH_INTERVAL_MS}. */
        public Builder interval(Duration interval) {
            if (interval.compareTo(Duration.ofMillis(1)) < 0 || interval.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException("interval must be between a millisecond and a day: " + interval);
            }
            this.interval = interval;
            return this;
        }

        /** How many events are taken at a time; default 100. {@code INTEV_BATCH_SIZE}. */
        public Builder batchSize(int batchSize) {
            if (batchSize < 1) {
                throw new IllegalArgumentException("batchSize must be positive: " + batchSize);
            }
            this.batchSize = batchSize;
            return this;
        }

        /** After how many failed attempts an event is DEAD; default 5. {@code INTEV_MAX_ATTEMPTS}. */
        public Builder maxAttempts(int maxAttempts) {
            if (maxAttempts < 1) {
                throw new IllegalArgumentException("maxAttempts must be at least 1: " + maxAttempts);
            }
            this.maxAttempts = maxAttempts;
            return this;
        }

        /** The waits after failed attempts; the last repeats. Default 1 s, 5 s, 30 s, 2 min, 10 min. {@code INTEV_BACKOFF_SERIES}, in milliseconds. */
        public Builder backoff(List<Duration> backoff) {
            RetryPolicies.series(backoff); // refuses
            this.backoff = List.copyOf(backoff);
            return this;
        }

        /** Sets what is there under the {@code INTEV_} names, usually {@code System.getenv()}. Other names are passed over, unless they begin with {@code INTEV_}: those are refused. */
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

        /** Is told about writes, attempts, deaths and drops; default: nobody. */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        public MemoryOutbox build() {
            return new MemoryOutbox(this);
        }
    }
}
