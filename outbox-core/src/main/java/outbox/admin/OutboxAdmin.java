package outbox.admin;

import outbox.admin.EventAdministration.ClaimHolder;
import outbox.admin.OutboxStatistics.TypeCount;
import outbox.internal.Ages;
import outbox.internal.Checks;
import outbox.internal.EventRules;
import outbox.internal.StoreAccess;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventStore;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The operations for administrators. Every call uses its own transactions, one connection at a time, and the
 * database clock. Thread-safe.
 *
 * <p>A database failure is always thrown as an {@link outbox.OutboxException}; no result is estimated. The calling
 * program must check who may use these operations.
 */
public final class OutboxAdmin {

    /** The maximum number of blocked aggregates to return. */
    public static final int MAX_BLOCKED = 1000;

    /** The maximum number of audit records to return. */
    public static final int MAX_AUDITS = 1000;

    private final StoreAccess access;
    private final EventStore eventStore;
    private final EventAdministration store;

    /**
     * Creates an administration object for a store.
     *
     * @throws IllegalArgumentException if the store has no {@link EventAdministration}
     */
    public OutboxAdmin(ConnectionProvider connectionProvider, EventStore eventStore) {
        Objects.requireNonNull(connectionProvider, "connectionProvider");
        this.eventStore = eventStore;
        this.store = EventAdministration.of(eventStore);
        this.access = new StoreAccess(connectionProvider, eventStore);
    }

    /** Counts the events and determines the age of the oldest pending event. Reads the whole table. */
    public OutboxStatistics statistics() {
        return access.inTransaction("read statistics", connection -> {
            List<TypeCount> counts = store.countByType(connection);
            Optional<Instant> oldest = store.oldestPending(connection);
            Instant now = access.ask(connection);
            return new OutboxStatistics(
                    now, counts, oldest.map(stored -> age(stored, now)).orElse(null));
        });
    }

    private static Duration age(Instant stored, Instant now) {
        return Ages.between(stored, now);
    }

    /**
     * Counts the pending events and determines the age of the oldest one. Reads only pending events, so it is fast
     * even if many events are done. Suitable for a call every few seconds.
     */
    public Backlog backlog() {
        return access.inTransaction("read the backlog", store::backlog);
    }

    /**
     * Counts dead events. Suitable for a call about once a minute: on PostgreSQL, {@code outbox_event} has no index
     * for dead events, so the count reads the whole table unless an index was added.
     *
     * @throws outbox.OutboxException for example if the count took longer than a few seconds
     */
    public long deadEvents() {
        return access.inTransaction("count dead events", store::countDead);
    }

    /** Reads all data of one event; empty if no event has this id. */
    public Optional<EventDetails> find(String eventId) {
        return access.inTransaction("read an event", connection -> store.find(connection, eventId));
    }

    /**
     * Searches events page by page. Events that are inserted or deleted between two pages do not cause other events
     * to be repeated or missed.
     */
    public EventQuery.Page find(EventQuery query) {
        List<EventSummary> events = access.inTransaction("search events", connection -> store.find(connection, query));
        boolean full = events.size() == query.pageSize();
        return new EventQuery.Page(events, full ? events.get(events.size() - 1).cursor() : null);
    }

    /**
     * Makes dead events pending again as NEW; they keep their last error. If the filter includes DONE, delivered
     * events are replayed too. A request that is not confirmed only returns how many events it would replay.
     *
     * <p>Replayed events have the header {@link outbox.EventHeaders#REPLAY}. They become due in the order in which
     * they were written, at the rate that the request allows. If the events of an aggregate are delivered in order,
     * later events wait for replayed events that were written before them. An event whose key another event now has
     * is not changed.
     *
     * <p>A confirmed request is executed once. Repeated with the same id, it changes nothing and returns the result
     * of the first call. It replays each event at most once, in transactions of at most 500 events, and each
     * transaction also updates the audit record.
     *
     * @throws AdminRequestFailedException if it failed midway; the exception contains the number of events
     * replayed before
     * @throws IllegalArgumentException if the request id was used for a different request
     * @throws outbox.OutboxException if there is no table for audit records, or the database failed before anything
     * was changed
     */
    public AdminResult replay(AdminRequest request) {
        return change(AdminAction.REPLAY, request);
    }

    /** Deletes dead events permanently, by the same rules as {@link #replay}. */
    public AdminResult discard(AdminRequest request) {
        return change(AdminAction.DISCARD, request);
    }

    /**
     * Permanently removes dead events from the order of their aggregates, so that later events need not wait for
     * them. The same rules as for {@link #replay} apply. The events stay dead; if one is replayed later, it is
     * delivered without order. Selects only dead events that have a position in an order: not those without an
     * aggregate id, nor those skipped before.
     *
     * @throws IllegalStateException if the store has no {@link EventOrder}
     * @throws outbox.OutboxException if its table has no column for the order
     */
    public AdminResult skip(AdminRequest request) {
        EventOrder order = order();
        access.inTransaction("find out whether there is an order", connection -> {
            order.requireOrder(connection);
            return order;
        });
        return change(AdminAction.SKIP, request);
    }

    /**
     * Returns aggregates that have a dead event in their order, the longest blocked first.
     *
     * @param limit 1 to {@value #MAX_BLOCKED}
     * @throws IllegalStateException if the store has no {@link EventOrder}
     * @throws outbox.OutboxException if its table has no column for the order
     */
    public List<BlockedAggregate> blockedAggregates(int limit) {
        Checks.range("limit", limit, 1, MAX_BLOCKED);
        EventOrder order = order();
        return access.inTransaction(
                "find blocked aggregates", connection -> order.blockedAggregates(connection, limit));
    }

    private EventOrder order() {
        return capability(EventOrder.class, "has no order");
    }

    private <T> T capability(Class<T> type, String missing) {
        return eventStore
                .capability(type)
                .orElseThrow(() -> new IllegalStateException("eventStore "
                        + eventStore.getClass().getName() + " " + missing + ": it does not implement "
                        + type.getName()));
    }

    /**
     * Stops the delivery of some or all events on all nodes until {@link #resume}. Nodes notice this within about a
     * second. Running listeners are not interrupted. A request that is not confirmed only returns whether it would
     * change anything. A confirmed request is executed once and writes an audit record. A pause that already exists
     * is not changed.
     *
     * @throws IllegalStateException if the store has no {@link EventPauses}
     * @throws IllegalArgumentException if the request id was used for a different request
     * @throws AdminRequestFailedException if it failed, for example because the table for pauses or audit records is
     * missing; nothing was changed
     */
    public AdminResult pause(PauseRequest request) {
        return new PauseRun(access, store, pauseStore(), AdminAction.PAUSE, request).run();
    }

    /**
     * Ends a pause, by the same rules as {@link #pause}. Pauses are independent: a paused type stays paused when the
     * whole outbox is resumed.
     */
    public AdminResult resume(PauseRequest request) {
        return new PauseRun(access, store, pauseStore(), AdminAction.RESUME, request).run();
    }

    /**
     * Returns the active pauses, the longest first. Returns an empty list if there is no table for pauses.
     *
     * @throws IllegalStateException if the store has no {@link EventPauses}
     */
    public List<Pause> pauses() {
        EventPauses pausing = pauseStore();
        return access.inTransaction(
                "read what is paused",
                connection -> pausing.hasPauses(connection) ? pausing.pauses(connection) : List.of());
    }

    private EventPauses pauseStore() {
        return capability(EventPauses.class, "knows no pauses");
    }

    /** Reads the audit record of a confirmed request; empty if there is none with this id. */
    public Optional<AuditEntry> audit(String requestId) {
        Checks.requestId(requestId);
        return access.inTransaction("read an audit record", connection -> store.audit(connection, requestId));
    }

    /**
     * Returns the latest audit records of this table, newest first.
     *
     * @param limit 1 to {@value #MAX_AUDITS}
     * @throws outbox.OutboxException if there is no table for audit records
     */
    public List<AuditEntry> audits(int limit) {
        Checks.range("limit", limit, 1, MAX_AUDITS);
        return access.inTransaction("read audit records", connection -> store.audits(connection, limit));
    }

    /**
     * Returns dead events grouped by their errors, largest group first. Reads all dead events that match the filter.
     *
     * @param filter selects among the dead events; its statuses are ignored
     */
    public List<ErrorGroup> errors(EventFilter filter) {
        return access.inTransaction("group errors", connection -> ErrorGroups.read(store, connection, filter));
    }

    /**
     * Returns the nodes that hold claims on unfinished events, sorted by name. If the table has no tokens, returns
     * all claims as one holder without a name.
     */
    public List<ClaimHolder> claimHolders() {
        return ClaimHolders.byNode(access.inTransaction("read who holds claims", store::claimHolders));
    }

    /**
     * Makes events due now that wait for their due time or for their next attempt. The number of attempts is kept,
     * and claimed events are not changed. The same rules as for {@link #replay} apply.
     *
     * @param request must select its events with {@link AdminRequest.Builder#unfinished}
     */
    public AdminResult runNow(AdminRequest request) {
        return change(AdminAction.RUN_NOW, request);
    }

    /**
     * Ends the leases of a node that is gone, so that other nodes may claim its events immediately. They receive the
     * events as suspects, as after a crash. If the node was only frozen, it can no longer mark events that another
     * node has claimed, but it may deliver them a second time. The same rules as for {@link #replay} apply.
     *
     * @param request must select its events with {@link AdminRequest.Builder#unfinished}: by {@code claimedBy} and
     * by {@code claimedBefore}, which excludes claims that were renewed since
     * @throws IllegalStateException if a claim of the node is not older than {@code claimedBefore}, so the node
     * is alive
     * @throws outbox.OutboxException if the table does not store which node claimed an event
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
        Optional<AuditEntry> earlier = audit(request.requestId()); // also fails if there is no audit table
        if (!request.isConfirmed()) {
            return dryRun(action, request);
        }
        RequestRun run = new RequestRun(access, eventStore, action, request);
        return earlier.map(run::repeat).orElseGet(run::run);
    }

    private AdminResult dryRun(AdminAction action, AdminRequest request) {
        Selection selection = new Selection(store, request.filter(action), request.errorFingerprint());
        long matched = access.inTransaction("count events", selection::count);
        return new AdminResult(
                request.requestId(), action, true, matched, Math.min(matched, request.cap()), true, false);
    }

    /**
     * Dead events whose last errors differ only in identifiers, numbers and quoted values. Such errors usually have the
     * same cause.
     *
     * @param fingerprint identifies the group in {@link AdminRequest.Builder#errorFingerprint}
     * @param error the last error of one event, as a list shows it; empty if the events have no error
     * @param count the number of events
     * @param eventTypes the types of the events, sorted
     * @param oldest when the first of the events ended, or when it was stored if the table does not contain that time
     * @param newest when the last of the events ended
     * @param exampleId the id of the event that was stored last
     */
    public record ErrorGroup(
            String fingerprint,
            String error,
            long count,
            List<String> eventTypes,
            Instant oldest,
            Instant newest,
            String exampleId) {

        public ErrorGroup {
            eventTypes = eventTypes.stream().sorted().toList();
        }
    }
}
