package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.GuardedMetrics;
import outbox.internal.Threads;
import outbox.order.Ordering;
import outbox.registry.ListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;

/**
 * The parts of one dispatcher. {@link Intake} accepts events, {@link EventRun} runs them, {@link Endings} ends them,
 * and {@link Shutdown} closes the dispatcher. These four share the other parts.
 */
final class DispatcherParts {

    final MetricsExporter metrics;
    final ClaimedStore store;
    final Ordering ordering;
    final OutcomePolicy policy;
    final DeliveryQueues queues;
    final LeadershipFence term;
    final OutcomeWriter marker;
    final @Nullable OrderGate order; // null if no event is ordered
    final InFlightDeliveries inFlight;
    final AsyncRuns asyncRuns;
    final Admission admission;
    final WorkerPool pool;
    final LeaseKeeper keeper;
    final AttachedPoller poller = new AttachedPoller();
    final Endings endings = new Endings(this);
    final Intake intake;
    final EventRun run;
    final Shutdown shutdown;
    private final ListenerRegistry registry;
    private final String name = Threads.nextName();

    DispatcherParts(DispatcherSettings settings) {
        ConnectionProvider connections = Objects.requireNonNull(settings.connectionProvider, "connectionProvider");
        EventStore events = Objects.requireNonNull(settings.eventStore, "eventStore");
        metrics = GuardedMetrics.of(settings.metrics);
        store = new ClaimedStore(
                connections,
                events,
                settings.ownerId,
                settings.leaseDuration,
                settings.databaseTimeout,
                settings.deleteDone);
        store.keepAttempts(settings.keepAttempts);
        ordering = settings.ordering;
        if (ordering.isOn()) {
            store.requireOrder();
        }
        registry = Objects.requireNonNull(settings.listenerRegistry, "listenerRegistry");
        Duration untakenLimit = settings.untakenLimit;
        intake = new Intake(this, untakenLimit == null ? null : new KnownRoutes(registry, events, untakenLimit));
        policy = new OutcomePolicy(
                settings.retryPolicy, settings.maxAttempts, settings.retryRules, registry, settings.errorText);
        queues = new DeliveryQueues(
                settings.hotQueueCapacity,
                settings.coldQueueCapacity,
                settings.maxQueuedBytes,
                settings.workerCount == 1);
        queues.onColdRoom(poller::wake);
        term = new LeadershipFence(settings.leadership, endings::endLeadership);
        marker = new OutcomeWriter(store, endings, term, Threads.named(name, "marker"), ordering.isOn());
        order = ordering.isOn() ? new OrderGate(store, ordering, endings, Threads.named(name, "order")) : null;
        inFlight = new InFlightDeliveries(settings.inFlightTracker);
        asyncRuns = new AsyncRuns(queues);
        int maxWaiting = Math.max(1, Math.min(settings.hotQueueCapacity, settings.coldQueueCapacity) / 4);
        admission = new Admission(
                settings.protection, registry, queues, maxWaiting, endings::withhold, Threads.named(name, "admission"));
        admission.onOpen(poller::wake);
        PauseWatch pauses = store.knowsPauses() ? new PauseWatch(store, admission) : null;
        if (pauses != null) {
            pauses.read(); // before any thread starts, because a restart must not end a pause
        }
        pool = new WorkerPool(workerThreads(settings.virtualThreads), settings.workerCount, queues);
        TimeLimits timeLimits = new TimeLimits(settings.listenerTimeLimit, settings.timeLimits);
        keeper = new LeaseKeeper(
                store,
                inFlight,
                timeLimits.shortest(),
                term,
                new RunWatch(this, pauses),
                Threads.named(name, "keeper"));
        String table = store.tableName();
        if (table != null) {
            settings.protection.breakers().forEach(breaker -> breaker.guards(table));
        }
        FailureLog failures = new FailureLog(table, registry, settings.interceptors, System::nanoTime);
        run = new EventRun(this, new DeliveryChain(settings.interceptors), failures, timeLimits);
        shutdown = new Shutdown(this, Duration.ofMillis(settings.drainTimeoutMs), settings.drainQueues);
    }

    /** Starts all threads. */
    void start() {
        marker.start();
        if (order != null) {
            order.start();
        }
        admission.start();
        pool.start(run);
        keeper.start(); // last: its first round reports the live workers
    }

    private ThreadFactory workerThreads(boolean virtual) {
        return virtual ? Threads.virtual(name, "worker") : Threads.named(name, "worker");
    }

    Route routeOf(Delivery delivery) {
        return Route.of(delivery, registry);
    }
}
