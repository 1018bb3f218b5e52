package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.EventListener;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryPolicy;
import outbox.internal.ListenerSettings;
import outbox.purge.OutboxPurge;
import outbox.runtime.OutboxRuntime;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.LeasingEventStore;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Delivers the events of one table, written by any program. A relay consists of a poller, a dispatcher and a purge.
 * All events go to one {@link MessageDispatcher} or listener. Use one relay for each table.
 *
 * <p>Without a {@link Leadership}, any number of relays share the table by claims. With a leadership, only the
 * leader takes events and the other relays stand by. A new leader immediately takes over the events that the
 * previous leader had claimed. Use the same choice for all relays of a table. In both cases, an event may be
 * delivered again after a fault, and a failed event may be delivered after events that follow it.
 *
 * <p>Thread-safe. The threads of the dispatcher start in {@link Builder#build()}, all other threads in
 * {@link #start()}. All threads end in {@link #close()}.
 */
public final class Relay implements AutoCloseable {

    private final String table;
    private final OutboxRuntime runtime;

    private Relay(Builder builder) {
        ConnectionProvider connections = required("connectionProvider", builder.connectionProvider);
        EventStore store = required("eventStore", builder.eventStore);
        EventListener listener = required("dispatcher or listener", builder.listener);
        table = builder.checkedTable(store);
        int maxAttempts = builder.checkedMaxAttempts(store);
        OutboxRuntime.Builder parts = OutboxRuntime.builder(connections, store)
                .leadership(builder.leadership)
                .metrics(builder.metrics)
                .ownerId(builder.ownerId)
                .lease(builder.lease)
                .databaseTimeout(builder.databaseTimeout)
                .handler(handler -> new RelayHandler(handler, table))
                .dispatcher(dispatching -> dispatching
                        .listenerRegistry((aggregateType, eventType) -> listener)
                        .retryPolicy(builder.retryPolicy)
                        .maxAttempts(maxAttempts)
                        .workerCount(builder.workers)
                        .coldQueueCapacity(2 * builder.batchSize)
                        .listenerTimeLimit(builder.dispatchTimeout)
                        .drainTimeoutMs(builder.drainTimeout.toMillis())
                        .errorText(new SafeErrorText(builder.lastErrorMaxBytes))
                        .protection(builder.protection)
                        .interceptors(builder.interceptors))
                .poller(polling -> polling.batchSize(builder.batchSize).intervalMs(builder.pollInterval.toMillis()));
        if (builder.purges) {
            parts.purge(builder::applyTo);
        }
        runtime = parts.build();
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

    /** Returns the table whose events this relay delivers. */
    public String table() {
        return table;
    }

    /** Starts polling and purging. Has no effect if the relay is already running. */
    public void start() {
        runtime.start();
    }

    /** Polls the table once, on the calling thread, with or without {@link #start()}. */
    public void poll() {
        runtime.poller().poll();
    }

    /** Starts the next poll cycle at once. */
    public void wake() {
        runtime.poller().wake();
    }

    /** Returns whether this relay delivers events: it is the leader, or it needs no leadership. */
    public boolean isActive() {
        Leadership leadership = runtime.leadership();
        return leadership == null || leadership.isLeader();
    }

    /** Returns the state of this relay, without I/O. */
    public RelayStatus status() {
        return RelayStatus.of(runtime.poller(), runtime.dispatcher(), runtime.leadership());
    }

    /**
     * Takes no more events, waits up to the drain timeout for running deliveries, writes their outcomes, and then
     * ends the leadership. Idempotent.
     */
    @Override
    public void close() {
        runtime.close();
    }

    /** Collects the settings of a relay. Every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofDays(365);
        private static final int MAX_BATCH = 10_000;
        private static final int MAX_ERROR_BYTES = 4000;

        private @Nullable ConnectionProvider connectionProvider;
        private @Nullable EventStore eventStore;
        private @Nullable String table;
        private @Nullable EventListener listener;
        private @Nullable Leadership leadership;
        private @Nullable Integer maxAttempts;
        private int batchSize = 100;
        private int workers = 1;
        private int lastErrorMaxBytes = 2048;
        private Duration pollInterval = Duration.ofSeconds(1);
        private Duration lease = Duration.ofSeconds(60);
        private @Nullable Duration databaseTimeout;
        private Duration dispatchTimeout = Duration.ofSeconds(30);
        private Duration drainTimeout = Duration.ofSeconds(5);
        private RetryPolicy retryPolicy =
                RetryPolicy.exponential(Duration.ofSeconds(1), Duration.ofSeconds(60), Duration.ofMillis(200));
        private Protection protection = Protection.none();
        private final List<EventInterceptor> interceptors = new ArrayList<>();
        private MetricsExporter metrics = MetricsExporter.NOOP;
        private @Nullable String ownerId;
        private boolean purges = true;
        private Duration purgeInterval = Duration.ofMinutes(1);
        private Duration retention = Duration.ofDays(7);
        private @Nullable Duration deadRetention;

        private Builder() {}

        /** Required. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /** Required; a store with {@link LeasingEventStore}. */
        public Builder eventStore(EventStore eventStore) {
            if (eventStore.capability(LeasingEventStore.class).isEmpty()) {
                throw new IllegalArgumentException("A relay needs a store with claims, but "
                        + eventStore.getClass().getName() + " does not implement " + LeasingEventStore.class.getName());
            }
            this.eventStore = eventStore;
            return this;
        }

        /**
         * The name of the table in {@link Meta#table()}. Default: the name from a {@link DescribedTable}.
         * Required with any other store.
         */
        public Builder table(String table) {
            this.table = Objects.requireNonNull(table, "table");
            return this;
        }

        /** The destination of all events. Either this or {@link #listener} is required. */
        public Builder dispatcher(MessageDispatcher dispatcher) {
            Objects.requireNonNull(dispatcher, "dispatcher");
            return to(event -> dispatcher.dispatch(new DispatchedMessage(Meta.of(event), event.payloadJson())));
        }

        /**
         * The destination of all events: any listener, such as a transport. The values of {@link Meta} are in the
         * headers of the envelope.
         */
        public Builder listener(EventListener listener) {
            ListenerSettings.check(Objects.requireNonNull(listener, "listener"));
            return to(listener);
        }

        private Builder to(EventListener receiver) {
            if (listener != null) {
                throw new IllegalArgumentException("A relay has one dispatcher or listener; it was given a second one");
            }
            listener = receiver;
            return this;
        }

        /**
         * Lets only the leader deliver. Default: all relays of the table share it by claims. The relay closes
         * the leadership.
         */
        public Builder leadership(Leadership leadership) {
            this.leadership = Objects.requireNonNull(leadership, "leadership");
            return this;
        }

        /** Maximum number of events per poll cycle, 1 to 10000; default 100. */
        public Builder batchSize(int batchSize) {
            this.batchSize = between("batchSize", batchSize, 1, MAX_BATCH);
            return this;
        }

        /** Pause while there are no events, plus or minus 20 %; default 1 s. */
        public Builder pollInterval(Duration pollInterval) {
            this.pollInterval = positive("pollInterval", pollInterval);
            return this;
        }

        /**
         * How long a claim lasts without renewal before another relay may take the event; default 60 s. Use the same
         * value on all nodes.
         */
        public Builder lease(Duration lease) {
            this.lease = positive("lease", lease);
            return this;
        }

        /** How long to wait for a reply of the database; default 5 s. At most half of the lease. */
        public Builder databaseTimeout(Duration databaseTimeout) {
            this.databaseTimeout = positive("databaseTimeout", databaseTimeout);
            return this;
        }

        /**
         * Number of failed attempts after which an event is dead; default 25. With a {@link DescribedTable},
         * the default is the value of the store, and no other value is allowed.
         */
        public Builder maxAttempts(int maxAttempts) {
            this.maxAttempts = between("maxAttempts", maxAttempts, 1, Integer.MAX_VALUE);
            return this;
        }

        /** Delay after a failed attempt. Default: 1 s, doubled after each attempt up to 60 s, plus up to 200 ms. */
        public Builder retryPolicy(RetryPolicy retryPolicy) {
            this.retryPolicy = Objects.requireNonNull(retryPolicy, "retryPolicy");
            return this;
        }

        /** Holds back events for a destination that is down or busy; default {@link Protection#none()}. */
        public Builder protection(Protection protection) {
            this.protection = Objects.requireNonNull(protection, "protection");
            return this;
        }

        /** Time limit for one delivery; default 30 s. After it, the delivery is interrupted and counts as failed. */
        public Builder dispatchTimeout(Duration dispatchTimeout) {
            this.dispatchTimeout = positive("dispatchTimeout", dispatchTimeout);
            return this;
        }

        /**
         * Maximum number of concurrent deliveries. Default 1, so that deliveries start in the order of the claim.
         * With an asynchronous listener, one worker has many events in flight.
         */
        public Builder workers(int workers) {
            this.workers = between("workers", workers, 1, 1000);
            return this;
        }

        /**
         * Maximum number of bytes of an error text that is stored, 1 to 4000; default 2048. The text never
         * contains the payload.
         */
        public Builder lastErrorMaxBytes(int lastErrorMaxBytes) {
            this.lastErrorMaxBytes = between("lastErrorMaxBytes", lastErrorMaxBytes, 1, MAX_ERROR_BYTES);
            return this;
        }

        /** How long {@link Relay#close()} waits for claimed events; default 5 s. */
        public Builder drainTimeout(Duration drainTimeout) {
            if (drainTimeout.isNegative() || drainTimeout.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "drainTimeout must not be negative, and at most a year: " + drainTimeout);
            }
            this.drainTimeout = drainTimeout;
            return this;
        }

        /** Adds an interceptor; may be called several times. */
        public Builder interceptor(EventInterceptor interceptor) {
            interceptors.add(Objects.requireNonNull(interceptor, "interceptor"));
            return this;
        }

        /** Default: {@link MetricsExporter#NOOP}. */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /** The name of this node in its claims, if the table stores a name; generated by default. */
        public Builder ownerId(String ownerId) {
            this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
            return this;
        }

        /** Switches the purge off. */
        public Builder withoutPurge() {
            this.purges = false;
            return this;
        }

        /** Pause of the purge after each run, plus or minus 10 %; default 1 minute. */
        public Builder purgeInterval(Duration purgeInterval) {
            this.purgeInterval = positive("purgeInterval", purgeInterval);
            return this;
        }

        /** How long delivered events are kept; default 7 days. */
        public Builder retention(Duration retention) {
            this.retention = notNegative("retention", retention);
            return this;
        }

        /** How long dead events are kept; must be positive. Default: forever. */
        public Builder deadRetention(Duration deadRetention) {
            if (notNegative("deadRetention", deadRetention).isZero()) {
                throw new IllegalArgumentException("deadRetention must be positive: with zero every dead event"
                        + " would be deleted at once. Leave it out to keep them.");
            }
            this.deadRetention = deadRetention;
            return this;
        }

        /**
         * Builds the relay and checks that the settings are consistent.
         *
         * @throws IllegalArgumentException if a required setting is missing, or if the store does not
         *     support a setting
         */
        public Relay build() {
            return new Relay(this);
        }

        private String checkedTable(EventStore store) {
            DescribedTable described = store.capability(DescribedTable.class).orElse(null);
            if (described == null) {
                return required("table", table);
            }
            if (!described.isShared() && leadership == null) {
                throw new IllegalArgumentException("Table " + described.tableName()
                        + " has no place for claims, so relays cannot share it. Give the relay a leadership.");
            }
            return table == null ? described.tableName() : table;
        }

        private int checkedMaxAttempts(EventStore store) {
            DescribedTable described = store.capability(DescribedTable.class).orElse(null);
            int said = described == null ? 25 : described.maxAttempts();
            int wanted = maxAttempts == null ? said : maxAttempts;
            if (described != null && wanted != said) {
                throw new IllegalArgumentException("maxAttempts is " + wanted + ", but the layout of table "
                        + described.tableName() + " tells dead events by " + said
                        + " attempts. Set it in the layout only.");
            }
            return wanted;
        }

        private void applyTo(OutboxPurge.Builder purge) {
            purge.interval(purgeInterval).retention(retention);
            if (deadRetention != null) {
                purge.deadRetention(deadRetention);
            }
        }

        private static int between(String setting, int value, int least, int most) {
            if (value < least || value > most) {
                throw new IllegalArgumentException(
                        setting + " must be between " + least + " and " + most + ": " + value);
            }
            return value;
        }

        private static Duration positive(String setting, Duration value) {
            if (value.toMillis() < 1 || value.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        setting + " must be at least a millisecond and at most a year: " + value);
            }
            return value;
        }

        private static Duration notNegative(String setting, Duration value) {
            if (value.isNegative()) {
                throw new IllegalArgumentException(setting + " must not be negative: " + value);
            }
            return value;
        }
    }
}
