package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.Threads;
import outbox.spi.Claim;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Queues and workers that run listeners and write the outcome of each run.
 *
 * <p>The dispatcher holds an accepted event until its outcome is committed. With a
 * {@link outbox.spi.LeasingEventStore}, an event runs only under a claim of this dispatcher. Hot events are inserted
 * with a claim, a poller brings a claim, and any other event is claimed before its run. Leases are renewed while
 * events wait and run. The parts:
 *
 * <pre>
 *  enqueueHot, enqueueCold
 *     └─▶ Intake ─▶ [OrderGate] ─▶ DeliveryQueues ─▶ Worker ─▶ EventRun ─▶ DeliveryChain ─▶ listener
 *            │          ▲                                          └─ OutcomePolicy ─▶ Endings ─▶ OutcomeWriter
 *            ▼          └── the events that wait for an outcome ───────────────────────────┘           │
 *     InFlightDeliveries ◀── LeaseKeeper renews leases and watches time limits        ClaimedStore ◀───┘
 * </pre>
 *
 * <p>Thread-safe. Threads start with {@link Builder#build()} and end with {@link #close()}.
 */
public final class OutboxDispatcher implements AutoCloseable {

    private final DispatcherParts parts;
    private final AtomicBoolean closed = new AtomicBoolean();

    private OutboxDispatcher(Builder builder) {
        parts = new DispatcherParts(builder);
        parts.start();
    }

    public static Builder builder() {
        return new Builder();
    }

    /**
     * Accepts an event from the after-commit path. Returns false if the queue is full or the dispatcher is
     * closing. Never blocks.
     */
    public boolean enqueueHot(QueuedEvent event) {
        return parts.intake.enqueueHot(event, null);
    }

    /**
     * Accepts an event from a poller. Returns false if the queue is full or the dispatcher is closing. Never blocks.
     */
    public boolean enqueueCold(QueuedEvent event) {
        return parts.intake.enqueueCold(event);
    }

    /** Whether the cold queue can take an event. */
    public boolean hasColdQueueCapacity() {
        return parts.intake.hasColdQueueCapacity();
    }

    /** Returns the status of this dispatcher, without I/O. */
    public Status status() {
        return new Status(
                parts.pool.workerCount(),
                parts.pool.liveWorkers(),
                parts.queues.depth(Source.HOT),
                parts.queues.depth(Source.COLD),
                parts.endings.markTrouble().lasts(),
                parts.endings.lastError());
    }

    /** Returns the current state of breakers, limits and pauses on this dispatcher. */
    public Protection.Status protectionStatus() {
        return parts.admission.status();
    }

    boolean enqueueHot(QueuedEvent event, @Nullable Claim claim) {
        return parts.intake.enqueueHot(event, claim);
    }

    void release(QueuedEvent event, @Nullable Claim claim) {
        parts.intake.release(event, claim);
    }

    @Nullable
    Claim birthClaim(int events, long bytes) {
        return parts.intake.birthClaim(events, bytes);
    }

    boolean leavesFreeEvents() {
        return parts.intake.leavesFreeEvents();
    }

    boolean wakePoller() {
        return parts.intake.wakePoller();
    }

    void scheduled(Instant availableAt) {
        parts.intake.scheduled(availableAt);
    }

    /** Returns the requirements of this dispatcher for its poller. */
    PollerNeeds needs() {
        return parts.intake;
    }

    /** Throws if the store uses another table, whose events this dispatcher does not deliver. */
    void requireTable(EventStore other) {
        parts.store.requireTable(other);
    }

    MetricsExporter metrics() {
        return parts.metrics;
    }

    /**
     * Closes the dispatcher in these steps:
     *
     * <ol>
     *   <li>It stops accepting events.
     *   <li>The workers finish the queued events for up to {@code drainTimeoutMs}. With {@code drainQueues} off they
     *       finish only the running events.
     *   <li>It interrupts the listeners that still run and releases all unfinished events.
     *   <li>It waits for a limited time until all outcomes are written.
     * </ol>
     *
     * <p>An asynchronous listener that has not completed by then may still process its event. Such an event is
     * delivered again after its lease has expired. This method is idempotent. If a listener calls it, it returns at
     * once and the dispatcher closes in the background.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        parts.intake.close();
        if (parts.pool.isWorkerThread(Thread.currentThread())) { // a worker cannot wait for itself
            Threads.named("closing", "closer").newThread(parts.shutdown::run).start();
        } else {
            parts.shutdown.run();
        }
    }

    /** Collects the settings of a dispatcher. Each setter throws on an invalid value. */
    public static final class Builder extends DispatcherSettings {

        private Builder() {}

        public OutboxDispatcher build() {
            check();
            return new OutboxDispatcher(this);
        }
    }

    /**
     * The status of a dispatcher.
     *
     * @param workers the configured number of workers
     * @param liveWorkers how many workers can take events; fewer if listeners are stuck, 0 after the close
     * @param hotWaiting events that came right after their commit and wait for a worker
     * @param coldWaiting events that came from a poller and wait for a worker
     * @param marksFailingFor how long all writes of outcomes have failed; null if the last write succeeded
     * @param lastError while outcomes cannot be written, the first line of the error of the last write; otherwise the
     *     stored error of the last failed attempt; null if there is none
     */
    public record Status(
            int workers,
            int liveWorkers,
            int hotWaiting,
            int coldWaiting,
            @Nullable Duration marksFailingFor,
            @Nullable String lastError) {}
}
