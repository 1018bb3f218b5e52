package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.ClaimInHand;
import outbox.internal.ColdCount;
import outbox.internal.GuardedMetrics;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.registry.ListenerRegistry;
import outbox.spi.Claim;
import outbox.spi.ConnectionProvider;
import outbox.spi.ErrorText;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.Mark;
import outbox.spi.MetricsExporter;
import outbox.spi.NamedEventStore;
import outbox.spi.SafeLogger;
import outbox.spi.Withheld;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Queues and workers that run listeners and write the outcome of each run.
 *
 * <p>An accepted event is held from the queue until its outcome is committed. With a {@link outbox.spi.LeasingEventStore} it runs only under a claim of this dispatcher: hot events are born
 * with one, a poller brings one, and an event that comes without is claimed before its run. Leases are renewed while events wait and run. The parts:
 *
 * <pre>
 *  enqueueHot ──▶ HeldEvents ─▶ [OrderGate] ─▶ DeliveryQueues ─▶ Worker ─▶ EventRun ─▶ DeliveryChain ─▶ listener
 *  enqueueCold ─▶      ▲             ▲                                        └─ OutcomePolicy ─▶ Marker ─▶ ClaimedStore
 *                      │             └──────── what waits for an outcome ───────────────────────────┘
 *                      └── LeaseKeeper renews leases, watches time limits
 * </pre>
 *
 * <p>The class is longer than others because the specification places its builder inside. Thread-safe. Threads start with {@link Builder#build()} and end with {@link #close()}.
 */
public final class OutboxDispatcher implements AutoCloseable {

    private static final Logger LOG = SafeLogger.of(OutboxDispatcher.class);
    private static final Duration STOP_GRACE = Duration.ofSeconds(1);
    private static final Duration MARK_GRACE = Duration.ofSeconds(5);

    private final ClaimedStore store;
    private final MetricsExporter metrics;
    private final Duration drainTimeout;
    private final boolean drainQueues;
    private final Ordering ordering;
    private final OutcomePolicy policy;
    private final DeliveryQueues queues;
    private final HeldEvents held;
    private final @Nullable OrderGate order; // null if no event is ordered
    private final AsyncRuns asyncRuns;
    private final Admission admission;
    private final Term term;
    private final @Nullable KnownRoutes known; // null if events without a listener are taken too
    private final @Nullable PauseWatch pauses; // null if the store cannot remember any
    private final Marker marker;
    private final WorkerPool pool;
    private final LeaseKeeper keeper;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final MarkTrouble markTrouble = new MarkTrouble();
    private volatile @Nullable String lastError; // of the last attempt that failed; the marker's thread writes
    private volatile boolean turnedAway; // a poller found that nothing was taken; pollers and keeper write
    private volatile boolean hasPoller; // set when a poller is attached, as the next three
    private volatile Runnable onReleased = () -> {};
    private volatile Consumer<Instant> onScheduled = at -> {};
    private volatile Consumer<Duration> onRetry = after -> {};

    private OutboxDispatcher(Builder builder) {
        metrics = GuardedMetrics.of(builder.metrics);
        drainTimeout = Duration.ofMillis(builder.drainTimeoutMs);
        drainQueues = builder.drainQueues;
        store = new ClaimedStore(
                Objects.requireNonNull(builder.connectionProvider, "connectionProvider"),
                Objects.requireNonNull(builder.eventStore, "eventStore"),
                builder.ownerId,
                builder.leaseDuration,
                builder.databaseTimeout,
                builder.deleteDone);
        store.keepAttempts(builder.keepAttempts);
        ordering = builder.ordering;
        if (ordering.isOn()) {
            store.requireOrder();
        }
        ListenerRegistry registry = Objects.requireNonNull(builder.listenerRegistry, "listenerRegistry");
        Duration untakenLimit = builder.untakenLimit;
        known = untakenLimit == null
                ? null
                : new KnownRoutes(registry, Objects.requireNonNull(builder.eventStore), untakenLimit);
        String name = Threads.nextName();
        Reports reports = new Reports();
        DeliveryChain chain = new DeliveryChain(registry, builder.interceptors);
        ListenerNames names = new ListenerNames(chain);
        policy = new OutcomePolicy(
                builder.retryPolicy, builder.maxAttempts, builder.retryRules, names, builder.errorText);
        queues = new DeliveryQueues(
                builder.hotQueueCapacity, builder.coldQueueCapacity, builder.maxQueuedBytes, builder.workerCount == 1);
        term = new Term(builder.leadership, this::endTerm);
        marker = new Marker(store, reports, term, Threads.named(name, "marker"), ordering.isOn());
        order = ordering.isOn() ? new OrderGate(store, ordering, new GateOutlet()) : null;
        held = new HeldEvents(builder.inFlightTracker, metrics, marker::release, this::gone);
        asyncRuns = new AsyncRuns(queues);
        admission = new Admission(
                builder.protection,
                names,
                queues,
                Math.max(1, Math.min(builder.hotQueueCapacity, builder.coldQueueCapacity) / 4),
                this::turnAway);
        admission.onOpen(() -> onReleased.run());
        pauses = store.knowsPauses() ? new PauseWatch(store, admission) : null;
        if (pauses != null) {
            pauses.read(); // before anything starts: a restart must not end a pause
        }
        pool = new WorkerPool(workerThreads(name, builder.virtualThreads), builder.workerCount, queues);
        TimeLimits timeLimits = new TimeLimits(builder.listenerTimeLimit, builder.timeLimits, names);
        keeper = new LeaseKeeper(store, held, timeLimits.shortest(), term, reports);
        String table = builder.eventStore instanceof NamedEventStore named ? named.tableName() : null;
        if (table != null) {
            builder.protection.breakers().forEach(breaker -> breaker.guards(table));
        }
        FailureLog failures = new FailureLog(table, names, builder.interceptors, System::nanoTime);
        EventRun run = new EventRun(
                store, chain, policy, failures, held, marker, queues, asyncRuns, admission, term, timeLimits, pool);
        marker.start();
        Threads.named(name, "keeper").newThread(keeper).start();
        if (order != null) {
            Threads.named(name, "order").newThread(order).start();
        }
        if (admission.hasGates()) {
            Threads.named(name, "admission").newThread(admission).start();
        }
        pool.start(run);
    }

    private static ThreadFactory workerThreads(String name, boolean virtual) {
        return virtual ? Threads.virtual(name, "worker") : Threads.named(name, "worker");
    }

    private void gone(Delivery delivery) {
        queues.gone(delivery);
        admission.gone(delivery);
        if (order != null) {
            order.gone(delivery);
        }
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Takes an event from the after-commit path; false if its queue is full or the dispatcher is closing. Never blocks. */
    public boolean enqueueHot(QueuedEvent event) {
        return enqueueHot(event, null);
    }

    /** Takes an event from a poller; false if its queue is full or the dispatcher is closing. Never blocks. */
    public boolean enqueueCold(QueuedEvent event) {
        ClaimInHand inHand = ClaimInHand.take(event.envelope().eventId());
        if (inHand != null) {
            store.limitLease(inHand.lease());
        }
        boolean accepted = accept(
                inHand == null
                        ? new Delivery(event, null, false)
                        : new Delivery(event, inHand.claim(), inHand.suspect()));
        if (accepted) {
            ColdCount.count(metrics);
            recordDepths();
        }
        return accepted;
    }

    boolean enqueueHot(QueuedEvent event, @Nullable Claim claim) {
        boolean accepted = accept(new Delivery(event, claim, false));
        if (accepted) {
            metrics.incrementHotEnqueued();
            recordDepths();
        }
        return accepted;
    }

    private boolean accept(Delivery delivery) {
        if (closed.get() || marker.isBehind()) {
            return false;
        }
        boolean isKnown = known == null || known.has(delivery.envelope());
        delivery.setTerm(term.number());
        if (!isKnown || !term.isLeader() || !admission.expects(delivery)) {
            delivery.setWithheld();
            if (delivery.claim() != null) {
                marker.release(Release.of(delivery));
            }
            return true; // for the table
        }
        String token = delivery.token();
        if (!held.hold(delivery)) { // its claim, if it has one, is in use now: a poller must not give it back
            admission.gone(delivery);
            return delivery.claim() != null || queues.room(delivery.source()) > 0;
        }
        if (delivery.isSuspect()) {
            delivery.setRunsAlone(policy.mustRunAlone(delivery));
        }
        if (!letIn(delivery)) {
            if (queues.hasOwnRoom(delivery) && delivery.giveUp()) { // for the table; there may be room for others
                delivery.setWithheld();
                held.release(delivery);
                return true;
            }
            held.letGo(delivery, token);
            return false;
        }
        if (closed.get() && delivery.giveUp()) { // closed meanwhile: the drain may have passed by
            held.release(delivery);
        }
        return true;
    }

    private boolean letIn(Delivery delivery) {
        OrderGate gate = order;
        if (gate == null || !gate.appliesTo(delivery)) {
            return queues.offer(delivery);
        }
        boolean room = queues.reserve(delivery);
        if (room) {
            gate.add(delivery);
        }
        return room;
    }

    /** Whether the cold queue can take an event. */
    public boolean hasColdQueueCapacity() {
        return isTaking() && queues.room(Source.COLD) > 0;
    }

    /** How many events a poller should bring now; none while leases cannot be renewed, or while the queue is more than half full. */
    int coldRoom() {
        return isTaking() ? Math.min(queues.muchColdRoom(), admission.claimRoom()) : 0;
    }

    /** How many suspects a poller should bring now. */
    int suspectRoom() {
        return queues.muchSuspectRoom();
    }

    private boolean isTaking() {
        boolean taking = !closed.get() && !marker.isBehind() && keeper.isHealthy() && !admission.isEverythingPaused();
        turnedAway |= !taking;
        return taking;
    }

    /** How many bytes of payload can be taken now. */
    long byteRoom() {
        return queues.byteRoom();
    }

    /**
     * The claim for events that are about to be written and then handed to the hot queue; null if they would not all be
     * taken now, so that any node may take them. Other open transactions are not counted: what finds no room after its
     * commit is released.
     */
    @Nullable
    Claim birthClaim(int events, long bytes) {
        return closed.get()
                        || !term.isLeader()
                        || marker.isBehind()
                        || admission.isEverythingPaused()
                        || !queues.hasHotRoom(events, bytes)
                ? null
                : store.birthClaim();
    }

    /** Whether a poller of ours takes the events that are born free. Without one they are claimed one by one. */
    boolean leavesFreeEvents() {
        return hasPoller && store.knowsClaims();
    }

    /** Events were committed free. False if this node may not deliver them now, so that no queue turned them away. */
    boolean wakePoller() {
        if (!term.isLeader() || admission.isEverythingPaused()) {
            return false;
        }
        if (coldRoom() > 0) { // else it is woken when there is room
            onReleased.run();
        }
        return true;
    }

    /** Makes an event that was born leased, but found no room, free for any poller. No I/O on the calling thread. */
    void giveBack(QueuedEvent event, @Nullable Claim claim) {
        if (claim != null) {
            marker.release(Release.of(new Delivery(event, claim, false)));
        }
    }

    /** A poller delivers to this dispatcher: leases must not be longer than it believes, and it wants to know when events were given back. */
    void attach(@Nullable Duration lockTimeout, Runnable wake) {
        if (lockTimeout != null) {
            store.limitLease(lockTimeout);
            keeper.wake(); // what was claimed for longer is renewed now
        }
        onReleased = wake;
        queues.onColdRoom(wake);
        hasPoller = true;
    }

    /** The poller wants to know when events become due: at a time of the database's clock, or after a while. */
    void tellWhenDue(Consumer<Instant> at, Consumer<Duration> after) {
        onScheduled = at;
        onRetry = after;
    }

    /** An event was committed that becomes due then. */
    void scheduled(Instant availableAt) {
        onScheduled.accept(availableAt);
    }

    /** How this dispatcher is doing, without I/O. */
    public DispatcherStatus status() {
        return new DispatcherStatus(
                pool.workerCount(),
                pool.liveWorkers(),
                queues.depth(Source.HOT),
                queues.depth(Source.COLD),
                markTrouble.lasts(),
                lastError);
    }

    /** What breakers, limits and pauses do on this dispatcher at the moment. */
    public ProtectionStatus protectionStatus() {
        return admission.status();
    }

    Withheld withheld() {
        Withheld withheld = admission.withheld();
        return known == null ? withheld : withheld.butKnown(known.routes());
    }

    @Nullable
    Duration untakenLimit() {
        return known == null ? null : known.untakenLimit();
    }

    /** What the poller needs to know whether this node may claim; null if all nodes may. */
    @Nullable
    Leadership leadership() {
        return term.isUsed() ? term : null;
    }

    /** This node does not lead, or does not any more: what it has is for the next leader. */
    private void endTerm() {
        for (Delivery delivery : held.all()) {
            if (delivery.giveUp()) {
                delivery.setWithheld();
                held.release(delivery);
            } else if (delivery.state() == Delivery.State.RUNNING) {
                delivery.cancel(Delivery.Cancel.LEASE_LOST);
            }
        }
    }

    /** Refuses a store of another table: what is written there is not for this dispatcher. */
    void requireTable(EventStore other) {
        store.requireTable(other);
    }

    MetricsExporter metrics() {
        return metrics;
    }

    Ordering ordering() {
        return ordering;
    }

    /**
     * Stops taking events, lets the workers finish what is queued, or with {@code drainQueues} off only what runs, for up to {@code drainTimeoutMs}, then interrupts running listeners, gives back to the database everything that
     * did not finish and waits, bounded, until all outcomes are written. What an asynchronous listener has not completed by then may still have its effect: it waits for the end of its lease.
     * Idempotent; from a listener it returns at once and closes in the background.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        if (pool.isWorkerThread(Thread.currentThread())) { // it cannot wait for itself
            Threads.named("closing", "closer").newThread(this::shutDown).start();
        } else {
            shutDown();
        }
    }

    private void shutDown() {
        AtomicBoolean interrupted = new AtomicBoolean();
        try {
            if (order != null) {
                order.close(); // what waits for its turn is for another node
            }
            admission.close(); // the same for what waits for a destination
            if (!drainQueues) {
                pool.stop(); // what runs may end, and nothing else begins
                giveBackWaiting();
            }
            boolean drained = waitFor(() -> (!drainQueues || pool.liveWorkers() > 0) && drain(), interrupted);
            giveBackWaiting();
            boolean stopped = waitFor(() -> stop(drained ? Duration.ZERO : STOP_GRACE), interrupted);
            giveBackWaiting(); // what workers set aside, or ends of asynchronous runs resumed, meanwhile
            if (!stopped) {
                LOG.log(
                        Level.WARNING,
                        "Listeners still run after the drain time of " + drainTimeout
                                + " and an interrupt; their events will be delivered again after their lease");
            }
            if (order != null) {
                waitFor(
                        () -> order.awaitEnd(STOP_GRACE),
                        interrupted); // it may give back what it was just asking about
            }
            if (!waitFor(() -> marker.close(MARK_GRACE), interrupted)) {
                LOG.log(
                        Level.WARNING,
                        "Not all outcomes were written within " + MARK_GRACE
                                + "; their events will be delivered again after their lease");
            }
        } finally {
            pool.endThreads();
            keeper.stop(); // the last to stop: until here leases were kept
            if (interrupted.get()) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void giveBackWaiting() {
        List<Delivery> setAside =
                asyncRuns.drain(); // first, so that no place that is given up below goes to one of them
        List<Delivery> queued = queues.drain();
        queued.forEach(asyncRuns::giveUpPlace);
        queued.forEach(admission::abandon);
        setAside.forEach(admission::abandon);
        Stream.concat(queued.stream(), setAside.stream())
                .filter(Delivery::giveUp)
                .forEach(held::release);
    }

    private boolean drain() throws InterruptedException {
        long end = System.nanoTime() + drainTimeout.toNanos();
        return pool.drain(drainTimeout) && asyncRuns.awaitNone(Duration.ofNanos(end - System.nanoTime()));
    }

    private boolean stop(Duration patience) throws InterruptedException {
        pool.stop();
        held.all().stream()
                .filter(delivery -> delivery.state() == Delivery.State.RUNNING)
                .forEach(delivery -> delivery.cancel(Delivery.Cancel.CLOSE));
        boolean workersEnded = pool.awaitEnd(patience);
        return asyncRuns.awaitNone(patience) && workersEnded;
    }

    /** A step of the close that waits. */
    private interface Waiting {
        boolean untilDone() throws InterruptedException;
    }

    /** An interrupt of the closing thread cuts the wait short, not the close: what was not waited for counts as not done. */
    private static boolean waitFor(Waiting step, AtomicBoolean interrupted) {
        try {
            return step.untilDone();
        } catch (InterruptedException e) {
            interrupted.set(true);
            return false;
        }
    }

    /** The event may not be delivered now, by a pause, breaker or limit. */
    private void turnAway(Delivery delivery) {
        delivery.setWithheld();
        if (delivery.giveUp()) {
            held.release(delivery);
        }
    }

    private void recordDepths() {
        if (metrics != MetricsExporter.NOOP) {
            metrics.recordQueueDepths(queues.depth(Source.HOT), queues.depth(Source.COLD));
        }
    }

    /** What marker and keeper report back. */
    private final class Reports implements Marker.Listener, LeaseKeeper.Listener {

        @Override
        public void marked(Delivery delivery, Mark mark, Marker.Written written) {
            markTrouble.end();
            if (order != null) {
                order.marked(delivery, mark, written == Marker.Written.YES);
                wakeForSuccessors(delivery, mark);
            }
            held.letGo(delivery, mark.token());
            if (written == Marker.Written.NO) {
                metrics.incrementLostClaims();
                LOG.log(
                        Level.WARNING,
                        "The lease of event " + mark.eventId() + " was lost before its outcome " + mark.status()
                                + " could be written; whoever holds it now decides, so it may be delivered again");
                return;
            }
            recordRun(delivery, mark);
            if (!mark.error().isEmpty()) {
                lastError = mark.error();
            }
            switch (mark.status()) {
                case DONE -> metrics.incrementDispatchSuccess();
                case RETRY -> {
                    metrics.incrementDispatchFailure();
                    onRetry.accept(mark.retryAfter());
                }
                default -> {
                    metrics.incrementDispatchDead();
                    metrics.recordDead(delivery.envelope().eventType());
                    int attempts = mark.countsAttempt() ? delivery.attempt() : delivery.attempts();
                    LOG.log(
                            Level.ERROR,
                            delivery.envelope() + " is dead after " + attempts + " attempts: " + mark.error());
                }
            }
        }

        /** Not for an event that is marked without a run, such as one that expired. */
        private void recordRun(Delivery delivery, Mark mark) {
            if (metrics == MetricsExporter.NOOP) {
                return;
            }
            Delivery.Run run = delivery.run();
            if (run != null) {
                metrics.recordDispatch(delivery.envelope().eventType(), mark.status() == EventStatus.DONE, run.took());
            }
        }

        /** The next event of an aggregate whose events come from the table is there as well. */
        private void wakeForSuccessors(Delivery delivery, Mark mark) {
            if (delivery.source() == Source.COLD && delivery.number() > 0 && mark.status() != EventStatus.RETRY) {
                onReleased.run();
            }
        }

        @Override
        public void overtaken(Delivery delivery) {
            held.release(delivery);
        }

        @Override
        public void released(Release release) {
            markTrouble.end();
            if (release.wakes()) {
                onReleased.run();
            }
        }

        @Override
        public void setAside(Delivery delivery) {
            queues.endRun(delivery); // other events must not wait for its row
        }

        @Override
        public void markFailed() {
            markTrouble.begin();
            metrics.incrementMarkFailures();
        }

        @Override
        public void leaseLost(Delivery delivery) {
            LOG.log(
                    Level.WARNING,
                    "The lease of event " + delivery.eventId() + " was lost: another node may deliver it");
            if (delivery.giveUp()) {
                held.lost(delivery, delivery.token(), "its lease ran out while it waited");
            } else if (delivery.cancel(Delivery.Cancel.LEASE_LOST)) {
                metrics.incrementLostClaims();
            }
        }

        @Override
        public void stuck(Delivery delivery, String why) {
            if (delivery.state() == Delivery.State.RUNNING) {
                TimeoutException failure = new TimeoutException(why);
                Mark mark = policy.outcome(delivery, failure, admission.leave(delivery, failure));
                metrics.incrementStuckListeners();
                LOG.log(
                        Level.ERROR,
                        "The listener of event " + delivery.eventId() + " is stuck; its worker is replaced");
                Worker worker = delivery.worker();
                if (worker != null) {
                    pool.replace(worker);
                }
                marker.settle(delivery, mark);
            }
        }

        @Override
        public void tick() {
            if (turnedAway && isTaking()) {
                turnedAway = false;
                onReleased.run();
            }
            if (pauses != null) {
                pauses.readIfDue();
            }
            metrics.recordLiveWorkers(pool.liveWorkers());
            admission.report(metrics);
            recordDepths();
        }
    }

    /** Where deliveries go that leave the order gate. */
    private final class GateOutlet implements OrderGate.Outlet {

        @Override
        public void ready(Delivery delivery) {
            queues.ready(delivery);
        }

        @Override
        public void drop(Delivery delivery) {
            queues.free(delivery);
        }

        @Override
        public void giveBack(Delivery delivery) {
            if (delivery.giveUp()) {
                held.release(delivery);
            }
        }

        @Override
        public void vanished(Delivery delivery) {
            if (delivery.giveUp()) {
                held.lost(delivery, delivery.token(), "it has no row");
            }
        }

        @Override
        public void park(Delivery delivery, Mark mark) {
            if (delivery.start(null)) {
                marker.settle(delivery, mark);
            }
        }
    }

    /** Collects the settings of a dispatcher; every setter refuses a wrong value. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofDays(365);

        private @Nullable ConnectionProvider connectionProvider;
        private @Nullable EventStore eventStore;
        private @Nullable ListenerRegistry listenerRegistry;
        private InFlightTracker inFlightTracker = new DefaultInFlightTracker();
        private RetryPolicy retryPolicy = new ExponentialBackoffRetryPolicy(200, 60_000);
        private int maxAttempts = 10;
        private RetryRules retryRules = RetryRules.none();
        private @Nullable Leadership leadership;
        private Protection protection = Protection.none();
        private int workerCount = 4;
        private int hotQueueCapacity = 1000;
        private int coldQueueCapacity = 1000;
        private long maxQueuedBytes = Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 16);
        private long drainTimeoutMs = 5000;
        private boolean drainQueues = true;
        private Duration leaseDuration = Duration.ofMinutes(5);
        private @Nullable Duration databaseTimeout;
        private Duration listenerTimeLimit = Duration.ofMinutes(10);
        private final Map<String, Duration> timeLimits = new HashMap<>();
        private MetricsExporter metrics = MetricsExporter.NOOP;
        private final List<EventInterceptor> interceptors = new ArrayList<>();
        private @Nullable String ownerId;
        private Ordering ordering = Ordering.off();
        private boolean deleteDone;
        private @Nullable Duration untakenLimit;
        private int keepAttempts = ClaimedStore.DEFAULT_ATTEMPTS;
        private boolean virtualThreads;
        private BiFunction<EventEnvelope, Throwable, String> errorText = ErrorText::of;

        private Builder() {}

        /** Required. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /** Required. */
        public Builder eventStore(EventStore eventStore) {
            this.eventStore = Objects.requireNonNull(eventStore, "eventStore");
            return this;
        }

        /** Required. */
        public Builder listenerRegistry(ListenerRegistry listenerRegistry) {
            this.listenerRegistry = Objects.requireNonNull(listenerRegistry, "listenerRegistry");
            return this;
        }

        /** Default: a {@link DefaultInFlightTracker} without time to live. */
        public Builder inFlightTracker(InFlightTracker inFlightTracker) {
            this.inFlightTracker = Objects.requireNonNull(inFlightTracker, "inFlightTracker");
            return this;
        }

        /** Default: {@code ExponentialBackoffRetryPolicy(200, 60_000)}. */
        public Builder retryPolicy(RetryPolicy retryPolicy) {
            this.retryPolicy = Objects.requireNonNull(retryPolicy, "retryPolicy");
            return this;
        }

        /** After how many failed attempts an event is DEAD; at least 1, default 10. */
        public Builder maxAttempts(int maxAttempts) {
            this.maxAttempts = require(maxAttempts >= 1, maxAttempts, "maxAttempts must be at least 1");
            return this;
        }

        /** Rules for certain exceptions, listeners and event types, which come before {@link #retryPolicy} and {@link #maxAttempts}; default none. */
        public Builder retryRules(RetryRules retryRules) {
            this.retryRules = Objects.requireNonNull(retryRules, "retryRules");
            return this;
        }

        /** Circuit breakers and limits; default none. */
        public Builder protection(Protection protection) {
            this.protection = Objects.requireNonNull(protection, "protection");
            return this;
        }

        /** How many events run at a time; default 4. With 0 nothing runs. */
        public Builder workerCount(int workerCount) {
            this.workerCount = require(workerCount >= 0, workerCount, "workerCount must not be negative");
            return this;
        }

        /** Default 1000. */
        public Builder hotQueueCapacity(int hotQueueCapacity) {
            this.hotQueueCapacity =
                    require(hotQueueCapacity > 0, hotQueueCapacity, "hotQueueCapacity must be positive");
            return this;
        }

        /** Default 1000. */
        public Builder coldQueueCapacity(int coldQueueCapacity) {
            this.coldQueueCapacity =
                    require(coldQueueCapacity > 0, coldQueueCapacity, "coldQueueCapacity must be positive");
            return this;
        }

        /** How many bytes of payload the dispatcher may hold: waiting, running, or until their outcome is written; default 64 MiB, at most a sixteenth of the heap. */
        public Builder maxQueuedBytes(long maxQueuedBytes) {
            this.maxQueuedBytes = require(maxQueuedBytes > 0, maxQueuedBytes, "maxQueuedBytes must be positive");
            return this;
        }

        /** Default: {@link MetricsExporter#NOOP}. */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /** Adds an interceptor; may be called several times. */
        public Builder interceptor(EventInterceptor interceptor) {
            interceptors.add(Objects.requireNonNull(interceptor, "interceptor"));
            return this;
        }

        /** Adds interceptors in their order. */
        public Builder interceptors(List<EventInterceptor> interceptors) {
            interceptors.forEach(this::interceptor);
            return this;
        }

        /** How long {@link OutboxDispatcher#close()} lets queued events finish; default 5000. */
        public Builder drainTimeoutMs(long drainTimeoutMs) {
            this.drainTimeoutMs = require(
                    drainTimeoutMs >= 0 && drainTimeoutMs <= LONGEST.toMillis(),
                    drainTimeoutMs,
                    "drainTimeoutMs must not be negative, and at most a year");
            return this;
        }

        /**
         * Whether {@link OutboxDispatcher#close()} also runs what is queued, as far as the drain time lasts; default true. Otherwise that is given back at once, and the whole drain time is for
         * what runs already: a listener that takes no longer is not interrupted, however much is queued.
         */
        public Builder drainQueues(boolean drainQueues) {
            this.drainQueues = drainQueues;
            return this;
        }

        /**
         * How long an event is exclusively this dispatcher's without renewal; default 5 minutes. A poller attached to this dispatcher lowers it to its own lock timeout; set it only
         * if pollers with a shorter one run elsewhere.
         */
        public Builder leaseDuration(Duration leaseDuration) {
            this.leaseDuration = requirePositive(leaseDuration, "leaseDuration");
            return this;
        }

        /**
         * How long the dispatcher waits for an answer of the database before it gives the connection up and goes on
         * with another; what it wanted to write is written again. Default 5 s,
         * or half the lease if that is shorter, but at least 1 s. At most half of {@link #leaseDuration}.
         */
        public Builder databaseTimeout(Duration databaseTimeout) {
            this.databaseTimeout = requirePositive(databaseTimeout, "databaseTimeout");
            return this;
        }

        /** How long a listener may run before it is interrupted and its attempt counts as failed; default 10 minutes. */
        public Builder listenerTimeLimit(Duration listenerTimeLimit) {
            this.listenerTimeLimit = requirePositive(listenerTimeLimit, "listenerTimeLimit");
            return this;
        }

        /** How long the listener with this name may run, see {@link outbox.EventListener#listenerName}; a second limit for the same one is refused. */
        public Builder listenerTimeLimit(String listener, Duration timeLimit) {
            if (timeLimits.putIfAbsent(
                            Names.require("listener", listener), requirePositive(timeLimit, "listenerTimeLimit"))
                    != null) {
                throw new IllegalArgumentException("There is a time limit for listener " + listener + " already");
            }
            return this;
        }

        /** Names this node in {@code locked_by} of the events it holds; default: generated from host and process. */
        public Builder ownerId(String ownerId) {
            this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
            return this;
        }

        /** Which events are delivered in order; default {@link Ordering#off()}. The same on all nodes. A table without the number that order needs is refused by {@link #build()}. */
        public Builder ordering(Ordering ordering) {
            this.ordering = Objects.requireNonNull(ordering, "ordering");
            return this;
        }

        /** Whether a delivered event is deleted at once instead of being kept as DONE until a purge, that is with a retention of zero; default false. */
        public Builder deleteDone(boolean deleteDone) {
            this.deleteDone = deleteDone;
            return this;
        }

        /**
         * Takes only events that the registry has a listener for, and leaves the others to nodes that have one; default: an event without a listener is DEAD at once. For nodes of different
         * versions on one table. Needs a registry that implements {@link ListenerRegistry#routes} and a store that is a {@link outbox.spi.WithholdingEventStore}.
         *
         * @param untakenLimit how long an event may be due before it is DEAD because no node took it; longer than any node that knows it is down, paused or behind
         */
        public Builder takeOnlyKnown(Duration untakenLimit) {
            this.untakenLimit = requirePositive(untakenLimit, "untakenLimit");
            return this;
        }

        /** How many of its last attempts the history of an event has, 0 to 1000; default 10. Where the store has no place for it there is no history. */
        public Builder keepAttempts(int keepAttempts) {
            this.keepAttempts = require(
                    keepAttempts >= 0 && keepAttempts <= 1000, keepAttempts, "keepAttempts must be between 0 and 1000");
            return this;
        }

        /** Whether workers are virtual threads; default false. Refused before Java 21. Pays with a large {@link #workerCount} and listeners that wait. */
        public Builder virtualThreads(boolean virtualThreads) {
            if (virtualThreads) {
                Threads.requireVirtual();
            }
            this.virtualThreads = virtualThreads;
            return this;
        }

        /**
         * What is kept of a failure in {@code last_error}, and logged; default {@link ErrorText#of(EventEnvelope,
         * Throwable)}, which hides the payload.
         */
        public Builder errorText(BiFunction<EventEnvelope, Throwable, String> errorText) {
            this.errorText = Objects.requireNonNull(errorText, "errorText");
            return this;
        }

        /**
         * Lets this dispatcher deliver, and its poller claim, only while this node leads; default: none, all nodes share the table by claims. With a store that knows no claims it
         * is what keeps nodes apart. The dispatcher does not close it: close it last.
         */
        public Builder leadership(Leadership leadership) {
            this.leadership = Objects.requireNonNull(leadership, "leadership");
            return this;
        }

        public OutboxDispatcher build() {
            if (databaseTimeout != null) {
                StoreAccess.requireWithin(databaseTimeout, leaseDuration, "leaseDuration");
            }
            return new OutboxDispatcher(this);
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
}
