package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.GuardedMetrics;
import outbox.internal.Scheduler;
import outbox.internal.Threads;
import outbox.order.Ordering;
import outbox.registry.ListenerRegistry;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.Objects;

/**
 * The parts of one dispatcher. {@link Intake} accepts events, {@link EventRun} runs them, {@link Endings} ends them,
 * and {@link Shutdown} closes the dispatcher. These four share the other parts.
 */
final class DispatcherParts {

    final Scheduler scheduler;
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
    final Endings endings;
    final Intake intake;
    final EventRun run;
    final Shutdown shutdown;
    private final ListenerRegistry registry;

    DispatcherParts(DispatcherSettings settings) {
        scheduler = settings.scheduler;
        EngineThreads threads = new EngineThreads(Threads.nextName(), scheduler);
        endings = new Endings(this);
        metrics = GuardedMetrics.of(settings.metrics);
        store = new ClaimedStore(settings);
        ordering = settings.ordering;
        if (ordering.isOn()) {
            store.requireOrder();
        }
        registry = Objects.requireNonNull(settings.listenerRegistry, "listenerRegistry");
        EventStore events = Objects.requireNonNull(settings.eventStore, "eventStore");
        Duration untakenLimit = settings.untakenLimit;
        intake = new Intake(this, untakenLimit == null ? null : new KnownRoutes(registry, events, untakenLimit));
        policy = new OutcomePolicy(
                settings.retryPolicy, settings.maxAttempts, settings.retryRules, registry, settings.errorText);
        queues = new DeliveryQueues(
                settings.hotQueueCapacity,
                settings.coldQueueCapacity,
                settings.maxQueuedBytes,
                settings.workerCount == 1,
                scheduler);
        queues.onColdRoom(poller::wake);
        term = new LeadershipFence(settings.leadership, endings::endLeadership, scheduler);
        marker = new OutcomeWriter(store, endings, term, threads, ordering.isOn());
        order = ordering.isOn() ? new OrderGate(store, ordering, endings, threads) : null;
        inFlight = new InFlightDeliveries(settings.inFlightTracker);
        asyncRuns = new AsyncRuns(queues);
        int maxWaiting = Math.max(1, Math.min(settings.hotQueueCapacity, settings.coldQueueCapacity) / 4);
        admission = new Admission(settings.protection, registry, queues, maxWaiting, endings::withhold, threads);
        admission.onOpen(poller::wake);
        PauseWatch pauses = store.knowsPauses() ? new PauseWatch(store, admission, scheduler) : null;
        if (pauses != null) {
            pauses.read(); // before any thread starts, because a restart must not end a pause
        }
        pool = new WorkerPool(threads.ofWorkers(settings.virtualThreads), settings.workerCount, queues, scheduler);
        TimeLimits timeLimits = new TimeLimits(settings.listenerTimeLimit, settings.timeLimits);
        keeper = new LeaseKeeper(store, inFlight, timeLimits.shortest(), term, new RunWatch(this, pauses), threads);
        String table = store.tableName();
        if (table != null) {
            settings.protection.breakers().forEach(breaker -> breaker.guards(table));
        }
        FailureLog failures = new FailureLog(table, registry, settings.interceptors, scheduler::nanoTime);
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

    Route routeOf(Delivery delivery) {
        return Route.of(delivery, registry);
    }
}
