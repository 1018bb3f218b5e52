package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.ProtectionStatus;
import outbox.internal.Ages;
import outbox.internal.EventRules;
import outbox.internal.StoreAccess;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.ReconcileStatus;
import outbox.spi.AdminEventStore;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.OrderedEventStore;
import outbox.spi.ReconcilingEventStore;
import outbox.spi.WithholdingEventStore;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What an operator may ask and do. Every call uses transactions of its own, one connection at a time, and the database's clock. Thread-safe.
 *
 * <p>A failure of the database is always thrown, as an {@link outbox.OutboxException}; no number is ever made up for it. Who may call this is for the program around it to decide.
 */
public final class OutboxAdmin {

    /** How many blocked aggregates are shown at most. */
    public static final int MAX_BLOCKED = 1000;

    /** How many runs of reconcile jobs are shown at most. */
    public static final int MAX_RUNS = 1000;

    /** How many audit records are shown at most. */
    public static final int MAX_AUDITS = 1000;

    private final StoreAccess access;
    private final AdminEventStore store;
    private final Supplier<@Nullable ProtectionStatus> protection;

    /**
     * Administers the events of a store.
     *
     * @throws IllegalArgumentException if the store is not an {@link AdminEventStore}
     */
    public OutboxAdmin(ConnectionProvider connectionProvider, EventStore eventStore) {
        this(connectionProvider, eventStore, () -> null);
    }

    /**
     * Administers the events of a store, and knows the dispatcher that delivers them in this process.
     *
     * @param protection {@code dispatcher::protectionStatus}; null is answered while there is no dispatcher
     * @throws IllegalArgumentException if the store is not an {@link AdminEventStore}
     */
    public OutboxAdmin(
            ConnectionProvider connectionProvider,
            EventStore eventStore,
            Supplier<@Nullable ProtectionStatus> protection) {
        Objects.requireNonNull(connectionProvider, "connectionProvider");
        this.protection = Objects.requireNonNull(protection, "protection");
        this.store = AdminEventStore.require(eventStore);
        this.access = new StoreAccess(connectionProvider, eventStore);
    }

    /** Counts the events, and tells how long the oldest pending one has been waiting. Reads the whole table. */
    public OutboxStatistics statistics() {
        return access.inTransaction("read statistics", connection -> {
            List<TypeCount> counts = store.countByType(connection);
            Optional<Instant> oldest = store.oldestPending(connection);
            Instant now = store.now(connection);
            return new OutboxStatistics(
                    now, counts, oldest.map(stored -> age(stored, now)).orElse(null));
        });
    }

    private static Duration age(Instant stored, Instant now) {
        return Ages.between(stored, now);
    }

    /** Counts the events that wait, and tells how long the oldest one has. Reads what is pending only, so it is quick however many events are done; meant to be asked every few seconds. */
    public Backlog backlog() {
        return access.inTransaction("read the backlog", store::backlog);
    }

    /**
     * Counts dead events. Meant to be asked every minute or so: on PostgreSQL, {@code outbox_event} has no index for
     * them, so that it reads the whole table there unless an index was added.
     *
     * @throws outbox.OutboxException if the count took longer than a few seconds, among others
     */
    public long deadEvents() {
        return access.inTransaction("count dead events", store::countDead);
    }

    /** Reads everything about one event; empty if there is none with this id. */
    public Optional<EventDetails> find(String eventId) {
        return access.inTransaction("read an event", connection -> store.find(connection, eventId));
    }

    /** Searches events, a page at a time. Events that come or go between two pages neither repeat nor hide others. */
    public EventPage find(EventQuery query) {
        List<EventSummary> events = access.inTransaction("search events", connection -> store.find(connection, query));
        boolean full = events.size() == query.pageSize();
        return new EventPage(events, full ? events.get(events.size() - 1).cursor() : null);
    }

    /**
     * Makes dead events pending again, as new ones that keep their last error; delivered ones too if the filter names DONE. A request that is not confirmed only answers how many events
     * it would replay.
     *
     * <p>Replayed events bear the header {@link outbox.spi.Replay#HEADER}. They become due in the order in which they were written, at the rate that the request allows; an aggregate
     * whose events are delivered in order waits for those of them that were written before. One whose key another event has by now stays as it is.
     *
     * <p>A confirmed request happens once: asked again with its id, it changes nothing and answers what was done the first time. It replays each event at most once, in
     * transactions of at most 500 events, each with its audit record.
     *
     * @throws AdminRequestFailedException if it failed on its way; it says how many events were replayed before
     * @throws IllegalArgumentException if the request id was used for something else
     * @throws outbox.OutboxException if there is no table for audit records, or the database failed before anything was changed
     */
    public AdminResult replay(AdminRequest request) {
        return change(AdminAction.REPLAY, request);
    }

    /** Deletes dead events for good, on the same terms as {@link #replay}. */
    public AdminResult discard(AdminRequest request) {
        return change(AdminAction.DISCARD, request);
    }

    /**
     * Takes dead events out of the order of their aggregates for good, so that later events need not wait for them, on the same terms as {@link #replay}. They stay dead; one that is
     * replayed afterwards is delivered without order. Meant are only dead events that have a place in an order: not those without an aggregate id, nor those skipped before.
     *
     * @throws IllegalStateException if the store is not an {@link OrderedEventStore}
     * @throws outbox.OutboxException if its table has no place for the order
     */
    public AdminResult skip(AdminRequest request) {
        OrderedEventStore ordered = ordered(store);
        access.inTransaction("find out whether there is an order", connection -> {
            ordered.requireOrder(connection);
            return ordered;
        });
        return change(AdminAction.SKIP, request);
    }

    /**
     * Aggregates that have a dead event in their order, the longest blocked first.
     *
     * @param limit 1 to {@value #MAX_BLOCKED}
     * @throws IllegalStateException if the store is not an {@link OrderedEventStore}
     * @throws outbox.OutboxException if its table has no place for the order
     */
    public List<BlockedAggregate> blockedAggregates(int limit) {
        Checks.range("limit", limit, 1, MAX_BLOCKED);
        OrderedEventStore ordered = ordered(store);
        return access.inTransaction(
                "find blocked aggregates", connection -> ordered.blockedAggregates(connection, limit));
    }

    static OrderedEventStore ordered(AdminEventStore store) {
        if (store instanceof OrderedEventStore ordered) {
            return ordered;
        }
        throw new IllegalStateException("eventStore " + store.getClass().getName()
                + " has no order: it does not implement " + OrderedEventStore.class.getName());
    }

    /**
     * Stops the delivery of some or all events on all nodes until {@link #resume}; nodes notice within about a second. Listeners that run are left to finish. A request that is not
     * confirmed only answers whether it would change anything; a confirmed one happens once, with its audit record. What is paused already stays as it is.
     *
     * @throws IllegalStateException if the store is not a {@link WithholdingEventStore}
     * @throws IllegalArgumentException if the request id was used for something else
     * @throws AdminRequestFailedException if it failed, also for lack of a table for pauses or audit records; nothing was changed
     */
    public AdminResult pause(PauseRequest request) {
        return new PauseRun(access, store, withholding(), AdminAction.PAUSE, request).run();
    }

    /** Ends a pause, on the same terms as {@link #pause}. Each pause is for itself: a type stays paused while the whole outbox is resumed. */
    public AdminResult resume(PauseRequest request) {
        return new PauseRun(access, store, withholding(), AdminAction.RESUME, request).run();
    }

    /**
     * What is paused, the longest first. Nothing if there is no table for pauses.
     *
     * @throws IllegalStateException if the store is not a {@link WithholdingEventStore}
     */
    public List<Pause> pauses() {
        WithholdingEventStore withholding = withholding();
        return access.inTransaction(
                "read what is paused",
                connection -> withholding.hasPauses(connection) ? withholding.pauses(connection) : List.of());
    }

    /** What breakers and limits do at the moment in this process, and what is paused as its dispatcher last read it; empty if this admin knows no dispatcher. Asks memory, not the database. */
    public Optional<ProtectionStatus> protection() {
        return Optional.ofNullable(protection.get());
    }

    private WithholdingEventStore withholding() {
        if (store instanceof WithholdingEventStore withholding) {
            return withholding;
        }
        throw new IllegalStateException("eventStore " + store.getClass().getName()
                + " knows no pauses: it does not implement " + WithholdingEventStore.class.getName());
    }

    /**
     * Asks for a run of a reconcile job now, on whichever node has it: it sees the request within {@code lookEvery} (5 seconds). A request that is not confirmed asks for a dry run, and is
     * not audited. {@link #reconcileRun} tells what came of it, and so does the audit record of a confirmed one. What no node sees waits for one.
     *
     * @return with {@code complete} false: the run is still to come
     * @throws IllegalStateException if the store is not a {@link ReconcilingEventStore}, or another request for the job waits
     * @throws IllegalArgumentException if no node has ever had such a job, or the request id was used for something else
     * @throws AdminRequestFailedException if it failed, also for lack of a table for jobs or audit records; nothing was changed
     */
    public AdminResult reconcile(ReconcileRequest request) {
        return new ReconcileRequestRun(access, store, reconciling(), request).run();
    }

    /**
     * The reconcile jobs that any node has ever had, by name. Nothing if there is no table for them.
     *
     * @throws IllegalStateException if the store is not a {@link ReconcilingEventStore}
     */
    public List<ReconcileStatus> reconcileJobs() {
        ReconcilingEventStore reconciling = reconciling();
        return access.inTransaction(
                "read reconcile jobs",
                connection -> reconciling.keepsReconciliation(connection) ? reconciling.jobs(connection) : List.of());
    }

    /**
     * The latest runs of reconcile jobs on all nodes, the newest first. Nothing if there is no table for them.
     *
     * @param job of which job; null for all
     * @param limit 1 to {@value #MAX_RUNS}
     * @throws IllegalStateException if the store is not a {@link ReconcilingEventStore}
     */
    public List<ReconcileRun> reconcileRuns(@Nullable String job, int limit) {
        Checks.range("limit", limit, 1, MAX_RUNS);
        ReconcilingEventStore reconciling = reconciling();
        return access.inTransaction(
                "read runs of reconcile jobs",
                connection -> reconciling.keepsReconciliation(connection)
                        ? reconciling.runs(connection, job, limit)
                        : List.of());
    }

    /**
     * The latest run that was made for a request; empty while there is none. Its end need not be that of the request: a run that was cut short, as by a node that closes, is followed by another.
     * The request is done with when none of the {@link #reconcileJobs} names it any more.
     */
    public Optional<ReconcileRun> reconcileRun(String requestId) {
        Checks.requestId(requestId);
        ReconcilingEventStore reconciling = reconciling();
        return access.inTransaction(
                "read a run of a reconcile job", connection -> reconciling.runFor(connection, requestId));
    }

    private ReconcilingEventStore reconciling() {
        if (store instanceof ReconcilingEventStore reconciling) {
            return reconciling;
        }
        throw new IllegalStateException("eventStore " + store.getClass().getName()
                + " keeps no reconcile jobs: it does not implement " + ReconcilingEventStore.class.getName());
    }

    /** Reads the audit record of a confirmed request; empty if there is none with this id. */
    public Optional<AuditEntry> audit(String requestId) {
        Checks.requestId(requestId);
        return access.inTransaction("read an audit record", connection -> store.audit(connection, requestId));
    }

    /**
     * The latest audit records of this table, the newest first.
     *
     * @param limit 1 to {@value #MAX_AUDITS}
     * @throws outbox.OutboxException if there is no table for audit records
     */
    public List<AuditEntry> audits(int limit) {
        Checks.range("limit", limit, 1, MAX_AUDITS);
        return access.inTransaction("read audit records", connection -> store.audits(connection, limit));
    }

    /**
     * Dead events grouped by their errors, the largest group first. Reads all dead events that pass the filter.
     *
     * @param filter which of the dead events; its statuses do not matter
     */
    public List<ErrorGroup> errors(EventFilter filter) {
        return access.inTransaction("group errors", connection -> ErrorGroups.read(store, connection, filter));
    }

    /**
     * Who holds claims on unfinished events, sorted by name. In a table that keeps no tokens all claims are of one
     * holder without a name.
     */
    public List<ClaimHolder> claimHolders() {
        return ClaimHolders.byNode(access.inTransaction("read who holds claims", store::claimHolders));
    }

    /**
     * Makes events that wait for their time, or for their next attempt, due now. Attempts stay as they are; what is
     * claimed is left alone. On the same terms as {@link #replay}.
     *
     * @param request with its events given by {@link AdminRequest.Builder#unfinished}
     */
    public AdminResult runNow(AdminRequest request) {
        return change(AdminAction.RUN_NOW, request);
    }

    /**
     * Ends the leases of a node that is gone, so that other nodes may claim its events at once; they get them as
     * suspects, as after a crash. A node that was only frozen can mark nothing of them any more once another node has
     * claimed them, but may deliver them a second time. On the same terms as {@link #replay}.
     *
     * @param request with its events given by {@link AdminRequest.Builder#unfinished}: by {@code claimedBy}, and
     *     {@code claimedBefore}, which leaves those alone that were renewed since
     * @throws IllegalStateException if a claim of the node is younger than {@code claimedBefore}: the node lives
     * @throws outbox.OutboxException if the table does not keep who claimed an event
     */
    public AdminResult release(AdminRequest request) {
        request.checkFor(AdminAction.RELEASE);
        String node = Objects.requireNonNull(request.filter().claimedBy());
        Instant before = Objects.requireNonNull(request.filter().claimedBefore());
        for (ClaimHolder holder : claimHolders()) {
            String name = holder.node();
            if (name != null && isOf(node, name) && !holder.newest().isBefore(before)) {
                throw new IllegalStateException("Node " + EventRules.show(name) + " claimed or renewed an event at "
                        + holder.newest() + ": it is not gone. Stop it first, or wait until it has been silent for"
                        + " longer.");
            }
        }
        return change(AdminAction.RELEASE, request);
    }

    private static boolean isOf(String node, String name) {
        return name.equals(node) || name.startsWith(node + "/") || node.startsWith(name + "/");
    }

    private AdminResult change(AdminAction action, AdminRequest request) {
        request.checkFor(action);
        Optional<AuditEntry> earlier = audit(request.requestId()); // also refuses a store without a place for audit
        if (!request.isConfirmed()) {
            return dryRun(action, request);
        }
        RequestRun run = new RequestRun(access, store, action, request);
        return earlier.map(run::repeat).orElseGet(run::run);
    }

    private AdminResult dryRun(AdminAction action, AdminRequest request) {
        Selection selection = new Selection(store, request.filter(action), request.errorFingerprint());
        long matched = access.inTransaction("count events", selection::count);
        return new AdminResult(
                request.requestId(), action, true, matched, Math.min(matched, request.cap()), true, false);
    }
}
