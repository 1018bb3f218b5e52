package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.order.Ordering;
import outbox.registry.ListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.ErrorText;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;

/**
 * The settings of a dispatcher, with the setters of {@link OutboxDispatcher.Builder}. Each setter throws on
 * an invalid value.
 */
abstract sealed class DispatcherSettings permits OutboxDispatcher.Builder {

    private static final Duration LONGEST = Duration.ofDays(365);

    @Nullable
    ConnectionProvider connectionProvider;

    @Nullable
    EventStore eventStore;

    @Nullable
    ListenerRegistry listenerRegistry;

    InFlightTracker inFlightTracker = new DefaultInFlightTracker();
    RetryPolicy retryPolicy = new ExponentialBackoffRetryPolicy(200, 60_000);
    int maxAttempts = 10;
    RetryRules retryRules = RetryRules.none();

    @Nullable
    Leadership leadership;

    Protection protection = Protection.none();
    int workerCount = 4;
    int hotQueueCapacity = 1000;
    int coldQueueCapacity = 1000;
    long maxQueuedBytes = Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 16);
    long drainTimeoutMs = 5000;
    boolean drainQueues = true;
    Duration leaseDuration = Duration.ofMinutes(5);

    @Nullable
    Duration databaseTimeout;

    Duration listenerTimeLimit = Duration.ofMinutes(10);
    final Map<String, Duration> timeLimits = new HashMap<>();
    MetricsExporter metrics = MetricsExporter.NOOP;
    final List<EventInterceptor> interceptors = new ArrayList<>();

    @Nullable
    String ownerId;

    Ordering ordering = Ordering.off();
    boolean deleteDone;

    @Nullable
    Duration untakenLimit;

    int keepAttempts = ClaimedStore.DEFAULT_ATTEMPTS;
    boolean virtualThreads;
    BiFunction<EventEnvelope, Throwable, String> errorText = ErrorText::of;

    private OutboxDispatcher.Builder self() {
        return (OutboxDispatcher.Builder) this;
    }

    /** Required. */
    public OutboxDispatcher.Builder connectionProvider(ConnectionProvider connectionProvider) {
        this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
        return self();
    }

    /** Required. */
    public OutboxDispatcher.Builder eventStore(EventStore eventStore) {
        this.eventStore = Objects.requireNonNull(eventStore, "eventStore");
        return self();
    }

    /** Required. */
    public OutboxDispatcher.Builder listenerRegistry(ListenerRegistry listenerRegistry) {
        this.listenerRegistry = Objects.requireNonNull(listenerRegistry, "listenerRegistry");
        return self();
    }

    /** Default: a {@link DefaultInFlightTracker} without time to live. */
    public OutboxDispatcher.Builder inFlightTracker(InFlightTracker inFlightTracker) {
        this.inFlightTracker = Objects.requireNonNull(inFlightTracker, "inFlightTracker");
        return self();
    }

    /** Default: {@code ExponentialBackoffRetryPolicy(200, 60_000)}. */
    public OutboxDispatcher.Builder retryPolicy(RetryPolicy retryPolicy) {
        this.retryPolicy = Objects.requireNonNull(retryPolicy, "retryPolicy");
        return self();
    }

    /** How many failed attempts make an event DEAD. At least 1, default 10. */
    public OutboxDispatcher.Builder maxAttempts(int maxAttempts) {
        this.maxAttempts = require(maxAttempts >= 1, maxAttempts, "maxAttempts must be at least 1");
        return self();
    }

    /**
     * Rules for certain exceptions, listeners and event types. They take precedence over {@link #retryPolicy} and
     * {@link #maxAttempts}. Default: none.
     */
    public OutboxDispatcher.Builder retryRules(RetryRules retryRules) {
        this.retryRules = Objects.requireNonNull(retryRules, "retryRules");
        return self();
    }

    /** Circuit breakers and limits. Default: none. */
    public OutboxDispatcher.Builder protection(Protection protection) {
        this.protection = Objects.requireNonNull(protection, "protection");
        return self();
    }

    /** How many events run concurrently. Default 4. With 0, no event runs. */
    public OutboxDispatcher.Builder workerCount(int workerCount) {
        this.workerCount = require(workerCount >= 0, workerCount, "workerCount must not be negative");
        return self();
    }

    /** Default 1000. */
    public OutboxDispatcher.Builder hotQueueCapacity(int hotQueueCapacity) {
        this.hotQueueCapacity = require(hotQueueCapacity > 0, hotQueueCapacity, "hotQueueCapacity must be positive");
        return self();
    }

    /** Default 1000. */
    public OutboxDispatcher.Builder coldQueueCapacity(int coldQueueCapacity) {
        this.coldQueueCapacity =
                require(coldQueueCapacity > 0, coldQueueCapacity, "coldQueueCapacity must be positive");
        return self();
    }

    /**
     * How many payload bytes the dispatcher may hold, from the acceptance of an event until its outcome is written.
     * Default 64 MiB, or a sixteenth of the heap if that is less.
     */
    public OutboxDispatcher.Builder maxQueuedBytes(long maxQueuedBytes) {
        this.maxQueuedBytes = require(maxQueuedBytes > 0, maxQueuedBytes, "maxQueuedBytes must be positive");
        return self();
    }

    /** Default: {@link MetricsExporter#NOOP}. */
    public OutboxDispatcher.Builder metrics(MetricsExporter metrics) {
        this.metrics = Objects.requireNonNull(metrics, "metrics");
        return self();
    }

    /** Adds an interceptor. May be called several times. */
    public OutboxDispatcher.Builder interceptor(EventInterceptor interceptor) {
        interceptors.add(Objects.requireNonNull(interceptor, "interceptor"));
        return self();
    }

    /** Adds interceptors in the order of the list. */
    public OutboxDispatcher.Builder interceptors(List<EventInterceptor> interceptors) {
        interceptors.forEach(this::interceptor);
        return self();
    }

    /**
     * How long {@link OutboxDispatcher#close()} waits for queued events to finish, in milliseconds. Default 5000.
     */
    public OutboxDispatcher.Builder drainTimeoutMs(long drainTimeoutMs) {
        this.drainTimeoutMs = require(
                drainTimeoutMs >= 0 && drainTimeoutMs <= LONGEST.toMillis(),
                drainTimeoutMs,
                "drainTimeoutMs must not be negative, and at most a year");
        return self();
    }

    /**
     * Whether {@link OutboxDispatcher#close()} also runs queued events until the drain time is over. Default true.
     * If false, queued events are released at once, and running listeners have the whole drain time. A listener that
     * ends within this time is then not interrupted, no matter how many events are queued.
     */
    public OutboxDispatcher.Builder drainQueues(boolean drainQueues) {
        this.drainQueues = drainQueues;
        return self();
    }

    /**
     * How long an event belongs exclusively to this dispatcher without renewal. Default 5 minutes. A poller
     * attached to this dispatcher lowers it to its own lock timeout. Set it only if pollers with a shorter lock
     * timeout run elsewhere.
     */
    public OutboxDispatcher.Builder leaseDuration(Duration leaseDuration) {
        this.leaseDuration = requirePositive(leaseDuration, "leaseDuration");
        return self();
    }

    /**
     * How long the dispatcher waits for a response of the database. After that it aborts the connection and
     * repeats the write on another one. Default 5 s, or half the lease if that is shorter, but at least 1 s. At
     * most half of {@link #leaseDuration}.
     */
    public OutboxDispatcher.Builder databaseTimeout(Duration databaseTimeout) {
        this.databaseTimeout = requirePositive(databaseTimeout, "databaseTimeout");
        return self();
    }

    /** How long a listener may run before it is interrupted and its attempt counts as failed. Default 10 minutes. */
    public OutboxDispatcher.Builder listenerTimeLimit(Duration listenerTimeLimit) {
        this.listenerTimeLimit = requirePositive(listenerTimeLimit, "listenerTimeLimit");
        return self();
    }

    /**
     * How long the listener with this name may run, see {@link outbox.EventListener#listenerName}. Throws if this
     * listener already has a limit.
     */
    public OutboxDispatcher.Builder listenerTimeLimit(String listener, Duration timeLimit) {
        if (timeLimits.putIfAbsent(Names.require("listener", listener), requirePositive(timeLimit, "listenerTimeLimit"))
                != null) {
            throw new IllegalArgumentException("There is a time limit for listener " + listener + " already");
        }
        return self();
    }

    /**
     * The name of this node in {@code locked_by} of the events that it holds. Default: generated from
     * host and process.
     */
    public OutboxDispatcher.Builder ownerId(String ownerId) {
        this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
        return self();
    }

    /**
     * Which events are delivered in order. Default {@link Ordering#off()}. All nodes must use the same setting.
     * {@link OutboxDispatcher.Builder#build()} throws if the table has no column for the sequence number.
     */
    public OutboxDispatcher.Builder ordering(Ordering ordering) {
        this.ordering = Objects.requireNonNull(ordering, "ordering");
        return self();
    }

    /** Whether a delivered event is deleted at once instead of being kept as DONE until a purge. Default false. */
    public OutboxDispatcher.Builder deleteDone(boolean deleteDone) {
        this.deleteDone = deleteDone;
        return self();
    }

    /**
     * Accepts only events that the registry has a listener for, and leaves other events to nodes that have
     * one. Use it when nodes of different versions share a table. By default, an event without a listener
     * is DEAD at once. Needs a registry that implements {@link ListenerRegistry#routes} and a store that
     * {@linkplain outbox.spi.LeasingEventStore#canWithhold can withhold} events.
     *
     * @param untakenLimit how long an event may be due before it becomes DEAD because no node took it. Must be
     *     longer than any time for which all nodes that have a listener may be down, paused or behind.
     */
    public OutboxDispatcher.Builder takeOnlyKnown(Duration untakenLimit) {
        this.untakenLimit = requirePositive(untakenLimit, "untakenLimit");
        return self();
    }

    /**
     * How many of its latest attempts the history of an event contains, 0 to 1000. Default 10. There is no history
     * if the store has no table for it.
     */
    public OutboxDispatcher.Builder keepAttempts(int keepAttempts) {
        this.keepAttempts = require(
                keepAttempts >= 0 && keepAttempts <= 1000, keepAttempts, "keepAttempts must be between 0 and 1000");
        return self();
    }

    /**
     * Whether workers are virtual threads. Default false. Throws before Java 21. Useful with a large
     * {@link #workerCount} and listeners that block.
     */
    public OutboxDispatcher.Builder virtualThreads(boolean virtualThreads) {
        if (virtualThreads) {
            Threads.requireVirtual();
        }
        this.virtualThreads = virtualThreads;
        return self();
    }

    /**
     * The text of a failure that is stored in {@code last_error} and logged. Default
     * {@link ErrorText#of(EventEnvelope, Throwable)}, which hides the payload.
     */
    public OutboxDispatcher.Builder errorText(BiFunction<EventEnvelope, Throwable, String> errorText) {
        this.errorText = Objects.requireNonNull(errorText, "errorText");
        return self();
    }

    /**
     * Lets this dispatcher deliver, and its poller claim, only while this node is the leader. Default: none;
     * all nodes share the table by claims. With a store that does not support claims, only leadership prevents
     * several nodes from delivering the same event. The dispatcher does not close the leadership: close it
     * after the dispatcher.
     */
    public OutboxDispatcher.Builder leadership(Leadership leadership) {
        this.leadership = Objects.requireNonNull(leadership, "leadership");
        return self();
    }

    void check() {
        if (databaseTimeout != null) {
            StoreAccess.requireWithin(databaseTimeout, leaseDuration, "leaseDuration");
        }
    }

    private static int require(boolean valid, int value, String rule) {
        return (int) require(valid, (long) value, rule);
    }

    private static long require(boolean valid, long value, String rule) {
        if (!valid) {
            throw new IllegalArgumentException(rule + ": " + value);
        }
        return value;
    }

    private static Duration requirePositive(Duration value, String setting) {
        if (value.isZero() || value.isNegative() || value.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(setting + " must be positive and at most a year: " + value);
        }
        return value;
    }
}
