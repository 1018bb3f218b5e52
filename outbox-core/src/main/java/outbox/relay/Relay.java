package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.EventListener;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryPolicies;
import outbox.dispatch.RetryPolicy;
import outbox.internal.ListenerSettings;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.spi.ConnectionProvider;
import outbox.spi.DescribedEventStore;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.LeasingEventStore;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Delivers the events of one table, whoever writes them: a poller, a dispatcher and a purge with the settings of a relay. Every event goes to one {@link MessageDispatcher} or listener.
 * Several tables are several relays.
 *
 * <p>Without a {@link Leadership}, any number of relays share the table by claims. With one, only the leader takes events: the others stand by, and who becomes the leader takes over at once
 * what the former one had claimed. All relays of a table have the same choice. Either way an event may come again after a fault, and after a failure behind those that followed it.
 *
 * <p>Thread-safe. Threads of the dispatcher start with {@link Builder#build()}, the others with {@link #start()}; all end with {@link #close()}.
 */
public final class Relay implements AutoCloseable {

    private final String table;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final @Nullable OutboxPurge purge;
    private final @Nullable Leadership leadership;

    private Relay(Builder builder) {
        ConnectionProvider connections = required("connectionProvider", builder.connectionProvider);
        EventStore store = required("eventStore", builder.eventStore);
        EventListener listener = required("dispatcher or listener", builder.listener);
        leadership = builder.leadership;
        table = builder.checkedTable(store);
        purge = builder.purges ? builder.purge(connections, store) : null; // first: what it refuses has no threads yet
        OutboxDispatcher.Builder dispatching = OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry((aggregateType, eventType) -> listener)
                .retryPolicy(builder.retryPolicy)
                .maxAttempts(builder.checkedMaxAttempts(store))
                .workerCount(builder.workers)
                .coldQueueCapacity(2 * builder.batchSize)
                .leaseDuration(builder.lease)
                .listenerTimeLimit(builder.dispatchTimeout)
                .drainTimeoutMs(builder.drainTimeout.toMillis())
                .errorText(new SafeErrorText(builder.lastErrorMaxBytes))
                .protection(builder.protection)
                .interceptors(builder.interceptors)
                .metrics(builder.metrics);
        OutboxPoller.Builder polling = OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .batchSize(builder.batchSize)
                .intervalMs(builder.pollInterval.toMillis())
                .lockTimeout(builder.lease)
                .ownerId(builder.ownerId)
                .metrics(builder.metrics);
        if (builder.databaseTimeout != null) {
            dispatching.databaseTimeout(builder.databaseTimeout);
            polling.databaseTimeout(builder.databaseTimeout);
        }
        if (leadership != null) {
            dispatching.leadership(leadership);
        }
        if (builder.ownerId != null) {
            dispatching.ownerId(builder.ownerId);
        }
        dispatcher = dispatching.build();
        poller = polling.handler(new RelayHandler(new DispatcherPollerHandler(dispatcher), table))
                .build();
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

    /** The table whose events it delivers. */
    public String table() {
        return table;
    }

    /** Starts to poll and to purge; no effect if it runs already. */
    public void start() {
        poller.start();
        if (purge != null) {
            purge.start();
        }
    }

    /** Looks at the table once, on the calling thread; with or without {@link #start()}. */
    public void poll() {
        poller.poll();
    }

    /** Makes the next look at the table come at once. */
    public void wake() {
        poller.wake();
    }

    /** Whether this relay delivers: it is the leader, or none is needed. */
    public boolean isActive() {
        return leadership == null || leadership.isLeader();
    }

    /** How it is doing, without I/O. */
    public RelayStatus status() {
        return RelayStatus.of(poller, dispatcher, leadership);
    }

    /** Takes no more events, lets those at work finish for the drain time, writes their outcomes, and then gives up the lead. Idempotent. */
    @Override
    public void close() {
        try {
            poller.close();
            if (purge != null) {
                purge.close();
            }
            dispatcher.close();
        } finally {
            if (leadership != null) {
                leadership.close(); // last: until here no other may deliver
            }
        }
    }

    /** Collects the settings of a relay; every setter refuses a wrong value. Not thread-safe. */
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
                RetryPolicies.exponential(Duration.ofSeconds(1), Duration.ofSeconds(60), Duration.ofMillis(200));
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

        /** Required; a {@link LeasingEventStore}. */
        public Builder eventStore(EventStore eventStore) {
            if (!(eventStore instanceof LeasingEventStore)) {
                throw new IllegalArgumentException("A relay needs a store with claims, but "
                        + eventStore.getClass().getName() + " does not implement " + LeasingEventStore.class.getName());
            }
            this.eventStore = eventStore;
            return this;
        }

        /** The name of the table as receivers see it; default: what a {@link DescribedEventStore} says. Required with any other store. */
        public Builder table(String table) {
            this.table = Objects.requireNonNull(table, "table");
            return this;
        }

        /** Where every event goes. Either this or {@link #listener} is required. */
        public Builder dispatcher(MessageDispatcher dispatcher) {
            Objects.requireNonNull(dispatcher, "dispatcher");
            return to(event -> dispatcher.dispatch(new DispatchedMessage(Meta.of(event), event.payloadJson())));
        }

        /** Where every event goes: a listener of any kind, such as a transport. What {@link Meta} knows stands in the headers of the envelope. */
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

        /** Lets only the leader deliver; default: all relays of the table share it by claims. Closed with the relay. */
        public Builder leadership(Leadership leadership) {
            this.leadership = Objects.requireNonNull(leadership, "leadership");
            return this;
        }

        /** How many events a poll takes at most, 1 to 10000; default 100. */
        public Builder batchSize(int batchSize) {
            this.batchSize = between("batchSize", batchSize, 1, MAX_BATCH);
            return this;
        }

        /** How long the relay waits while there is nothing to do, give or take a fifth; default 1 s. */
        public Builder pollInterval(Duration pollInterval) {
            this.pollInterval = positive("pollInterval", pollInterval);
            return this;
        }

        /** How long a claim lasts without renewal before another relay may take the event; default 60 s. The same on all nodes. */
        public Builder lease(Duration lease) {
            this.lease = positive("lease", lease);
            return this;
        }

        /** How long to wait for an answer of the database; default 5 s. At most half the lease. */
        public Builder databaseTimeout(Duration databaseTimeout) {
            this.databaseTimeout = positive("databaseTimeout", databaseTimeout);
            return this;
        }

        /** After how many failed attempts an event is dead; default 25, or what a {@link DescribedEventStore} says, from which it must not differ. */
        public Builder maxAttempts(int maxAttempts) {
            this.maxAttempts = between("maxAttempts", maxAttempts, 1, Integer.MAX_VALUE);
            return this;
        }

        /** How long an event waits after a failed attempt; default 1 s, doubled each time up to 60 s, plus up to 200 ms. */
        public Builder retryPolicy(RetryPolicy retryPolicy) {
            this.retryPolicy = Objects.requireNonNull(retryPolicy, "retryPolicy");
            return this;
        }

        /** What keeps events away from a destination that is down or busy; default: nothing. */
        public Builder protection(Protection protection) {
            this.protection = Objects.requireNonNull(protection, "protection");
            return this;
        }

        /** How long a delivery may take before it is interrupted and counts as failed; default 30 s. */
        public Builder dispatchTimeout(Duration dispatchTimeout) {
            this.dispatchTimeout = positive("dispatchTimeout", dispatchTimeout);
            return this;
        }

        /** How many deliveries run at a time; default 1, so that events are started in the order of their claim. An asynchronous listener has many in flight with one. */
        public Builder workers(int workers) {
            this.workers = between("workers", workers, 1, 1000);
            return this;
        }

        /** How many bytes of an error are kept, 1 to 4000; default 2048. Never with the payload in it. */
        public Builder lastErrorMaxBytes(int lastErrorMaxBytes) {
            this.lastErrorMaxBytes = between("lastErrorMaxBytes", lastErrorMaxBytes, 1, MAX_ERROR_BYTES);
            return this;
        }

        /** How long {@link Relay#close()} lets claimed events finish; default 5 s. */
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

        /** Names this node in its claims, where the table keeps a name; default: generated. */
        public Builder ownerId(String ownerId) {
            this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
            return this;
        }

        /** Leaves delivered events in the table. */
        public Builder withoutPurge() {
            this.purges = false;
            return this;
        }

        /** How long the purge waits after a run, give or take a tenth; default 1 minute. */
        public Builder purgeInterval(Duration purgeInterval) {
            this.purgeInterval = positive("purgeInterval", purgeInterval);
            return this;
        }

        /** How long delivered events are kept; default 7 days. */
        public Builder retention(Duration retention) {
            this.retention = notNegative("retention", retention);
            return this;
        }

        /** How long dead events are kept, more than zero; default: for ever. */
        public Builder deadRetention(Duration deadRetention) {
            if (notNegative("deadRetention", deadRetention).isZero()) {
                throw new IllegalArgumentException("deadRetention must be positive: with zero every dead event"
                        + " would be deleted at once. Leave it out to keep them.");
            }
            this.deadRetention = deadRetention;
            return this;
        }

        /**
         * Refuses what does not fit together.
         *
         * @throws IllegalArgumentException if a required setting is missing, or the store cannot do what is asked
         */
        public Relay build() {
            return new Relay(this);
        }

        private String checkedTable(EventStore store) {
            if (!(store instanceof DescribedEventStore described)) {
                return required("table", table);
            }
            if (!described.isShared() && leadership == null) {
                throw new IllegalArgumentException("Table " + described.tableName()
                        + " has no place for claims, so relays cannot share it. Give the relay a leadership.");
            }
            return table == null ? described.tableName() : table;
        }

        private int checkedMaxAttempts(EventStore store) {
            int said = store instanceof DescribedEventStore described ? described.maxAttempts() : 25;
            int wanted = maxAttempts == null ? said : maxAttempts;
            if (store instanceof DescribedEventStore described && wanted != said) {
                throw new IllegalArgumentException("maxAttempts is " + wanted + ", but the layout of table "
                        + described.tableName() + " tells dead events by " + said
                        + " attempts. Set it in the layout only.");
            }
            return wanted;
        }

        private OutboxPurge purge(ConnectionProvider connections, EventStore store) {
            OutboxPurge.Builder purge = OutboxPurge.builder()
                    .connectionProvider(connections)
                    .eventStore(store)
                    .metrics(metrics)
                    .interval(purgeInterval)
                    .retention(retention);
            return (deadRetention == null ? purge : purge.deadRetention(deadRetention)).build();
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
