package outbox.runtime;

import org.jspecify.annotations.Nullable;
import outbox.AfterCommitHook;
import outbox.Experimental;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.poller.OutboxPollerHandler;
import outbox.purge.OutboxPurge;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Delivers the events of one store. It connects a dispatcher, a poller, and optionally a purge and a leadership. All
 * other ways to set up an outbox use it: plain JDBC, the relay, the in-memory outbox, Spring Boot.
 *
 * <p>{@link Builder#build()} starts the threads of the dispatcher, and {@link #start()} starts the others.
 * {@link #close()} ends all of them. Thread-safe.
 */
@Experimental
public final class OutboxRuntime implements AutoCloseable {

    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final @Nullable OutboxPurge purge;
    private final @Nullable Leadership leadership;
    private final AtomicBoolean closed = new AtomicBoolean();

    private OutboxRuntime(Builder builder) {
        leadership = builder.leadership;
        purge = builder.buildPurge(); // first: if it rejects a setting, no thread runs yet
        dispatcher = builder.buildDispatcher();
        try {
            poller = builder.buildPoller(dispatcher);
        } catch (RuntimeException | Error e) {
            dispatcher.close();
            throw e;
        }
    }

    public static Builder builder(ConnectionProvider connections, EventStore store) {
        return new Builder(connections, store);
    }

    /** Starts polling and purging; no effect if already running. */
    public void start() {
        poller.start();
        if (purge != null) {
            purge.start();
        }
    }

    public OutboxDispatcher dispatcher() {
        return dispatcher;
    }

    public OutboxPoller poller() {
        return poller;
    }

    /** Returns the purge, or null if there is none. */
    public @Nullable OutboxPurge purge() {
        return purge;
    }

    /** Returns the leadership, or null if all nodes share the table. */
    public @Nullable Leadership leadership() {
        return leadership;
    }

    /**
     * Returns the hot path for an {@link outbox.OutboxWriter}: a hook that passes committed events to
     * the dispatcher.
     */
    public AfterCommitHook hook() {
        return new DispatcherCommitHook(dispatcher);
    }

    /**
     * Stops claiming, lets running deliveries finish within the drain time, and writes their outcomes. Ends the
     * leadership last, because no other node may deliver before. Only the first
     * call has an effect.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return; // the first call ends the leadership, after its deliveries
        }
        try {
            poller.close();
        } finally {
            closeRest();
        }
    }

    private void closeRest() {
        try {
            if (purge != null) {
                purge.close();
            }
        } finally {
            try {
                dispatcher.close();
            } finally {
                if (leadership != null) {
                    leadership.close();
                }
            }
        }
    }

    /**
     * Builds a runtime. Settings that several parts share are set here once; all others are set on the builder of
     * the part. Not thread-safe.
     */
    public static final class Builder {

        private final ConnectionProvider connections;
        private final EventStore store;
        private Consumer<OutboxDispatcher.Builder> dispatcher = part -> {};
        private Consumer<OutboxPoller.Builder> poller = part -> {};
        private @Nullable Consumer<OutboxPurge.Builder> purge;
        private UnaryOperator<OutboxPollerHandler> handler = UnaryOperator.identity();
        private @Nullable Leadership leadership;
        private @Nullable MetricsExporter metrics;
        private @Nullable String ownerId;
        private @Nullable Duration lease;
        private @Nullable Duration databaseTimeout;

        private Builder(ConnectionProvider connections, EventStore store) {
            this.connections = Objects.requireNonNull(connections, "connections");
            this.store = Objects.requireNonNull(store, "store");
        }

        /** Sets options of the dispatcher; may be called several times. The listeners are required. */
        public Builder dispatcher(Consumer<OutboxDispatcher.Builder> settings) {
            dispatcher = dispatcher.andThen(settings);
            return this;
        }

        /** Sets options of the poller; may be called several times. */
        public Builder poller(Consumer<OutboxPoller.Builder> settings) {
            poller = poller.andThen(settings);
            return this;
        }

        /** Adds a purge and sets its options; may be called several times. Default: delivered events are kept. */
        public Builder purge(Consumer<OutboxPurge.Builder> settings) {
            Objects.requireNonNull(settings, "settings");
            purge = purge == null ? settings : purge.andThen(settings);
            return this;
        }

        /** Wraps the handler that passes claimed events to the dispatcher. */
        public Builder handler(UnaryOperator<OutboxPollerHandler> wrapper) {
            handler = Objects.requireNonNull(wrapper, "wrapper");
            return this;
        }

        /**
         * Lets only the leader deliver. The runtime closes the leadership. Default: all nodes share the table
         * with claims.
         */
        public Builder leadership(@Nullable Leadership leadership) {
            this.leadership = leadership;
            return this;
        }

        /** Sets the exporter for the metrics of all parts; default {@link MetricsExporter#NOOP}. */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /** Sets the name of this node in its claims; default: generated. */
        public Builder ownerId(@Nullable String ownerId) {
            this.ownerId = ownerId;
            return this;
        }

        /**
         * Sets how long a claim lasts without renewal; must be the same on all nodes. Default: that of
         * the dispatcher.
         */
        public Builder lease(Duration lease) {
            this.lease = Objects.requireNonNull(lease, "lease");
            return this;
        }

        /** Sets how long to wait for a response of the database. Default: that of the dispatcher. */
        public Builder databaseTimeout(@Nullable Duration databaseTimeout) {
            this.databaseTimeout = databaseTimeout;
            return this;
        }

        /**
         * Builds the parts and starts the threads of the dispatcher.
         *
         * @throws IllegalArgumentException if a part rejects its settings
         */
        public OutboxRuntime build() {
            return new OutboxRuntime(this);
        }

        private @Nullable OutboxPurge buildPurge() {
            if (purge == null) {
                return null;
            }
            OutboxPurge.Builder part =
                    OutboxPurge.builder().connectionProvider(connections).eventStore(store);
            if (metrics != null) {
                part.metrics(metrics);
            }
            purge.accept(part);
            return part.build();
        }

        private OutboxDispatcher buildDispatcher() {
            OutboxDispatcher.Builder part =
                    OutboxDispatcher.builder().connectionProvider(connections).eventStore(store);
            if (metrics != null) {
                part.metrics(metrics);
            }
            if (lease != null) {
                part.leaseDuration(lease);
            }
            if (databaseTimeout != null) {
                part.databaseTimeout(databaseTimeout);
            }
            if (ownerId != null) {
                part.ownerId(ownerId);
            }
            if (leadership != null) {
                part.leadership(leadership);
            }
            dispatcher.accept(part);
            return part.build();
        }

        private OutboxPoller buildPoller(OutboxDispatcher to) {
            OutboxPoller.Builder part = OutboxPoller.builder()
                    .connectionProvider(connections)
                    .eventStore(store)
                    .handler(handler.apply(new DispatcherPollerHandler(to)))
                    .ownerId(ownerId);
            if (metrics != null) {
                part.metrics(metrics);
            }
            if (lease != null) {
                part.lockTimeout(lease);
            }
            if (databaseTimeout != null) {
                part.databaseTimeout(databaseTimeout);
            }
            poller.accept(part);
            return part.build();
        }
    }
}
