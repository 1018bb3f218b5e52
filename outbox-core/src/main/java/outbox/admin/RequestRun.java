package outbox.admin;

import outbox.internal.StoreAccess;
import outbox.spi.EventOrder;
import outbox.spi.EventStore;

import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Executes one confirmed request. Its events are a snapshot: their ids are read once. An event that dies again
 * meanwhile is therefore not changed twice, and an event that dies later is not added.
 *
 * <p>The first transaction reads the ids, writes the audit record and changes the first batch. A request for up to
 * {@value #BATCH} events is therefore executed completely or not at all. Each further transaction changes one batch
 * and adds its count to the record. If the process crashes at any point, the record states exactly what was done.
 */
final class RequestRun {

    static final int BATCH = 500;

    private final StoreAccess access;
    private final EventAdministration store;
    private final EventStore eventStore;
    private final AdminAction action;
    private final AdminRequest request;

    RequestRun(StoreAccess access, EventStore eventStore, AdminAction action, AdminRequest request) {
        this.access = access;
        this.store = EventAdministration.of(eventStore);
        this.eventStore = eventStore;
        this.action = action;
        this.request = request;
    }

    /** The result of the first transaction. If it repeats an earlier request, nothing is left to do. */
    private record Start(AuditEntry entry, List<String> ids, boolean repeated) {}

    /**
     * Returns the result of the earlier request with this id, or continues that request if it is unfinished and
     * should be continued.
     */
    AdminResult repeat(AuditEntry earlier) {
        if (earlier.action() != action || !earlier.selection().equals(AuditEntry.cut(request.selection()))) {
            throw new IllegalArgumentException("requestId " + request.requestId() + " was used by " + earlier.actor()
                    + " for " + earlier.action() + " of " + earlier.selection() + "; use a new one for " + action
                    + " of " + request.selection());
        }
        return request.isContinuing() && earlier.finishedAt() == null
                ? AdminResult.of(finish(goOn(earlier)), false)
                : AdminResult.of(earlier, true);
    }

    AdminResult run() {
        Start start = start();
        return start.repeated() ? repeat(start.entry()) : AdminResult.of(finish(start), false);
    }

    /**
     * Continues an earlier request. Selects only events that ended before that request started, which excludes
     * events that it has already changed.
     */
    private Start goOn(AuditEntry earlier) {
        try {
            return access.inTransaction(toString(), connection -> {
                int rest = (int) Math.max(0, request.cap() - earlier.affected());
                EventFilter filter = action == AdminAction.RUN_NOW || action == AdminAction.RELEASE
                        ? request.filter(action)
                        : request.filter(action).endedBefore(earlier.startedAt());
                List<String> ids = rest == 0 ? List.of() : selection(filter).ids(connection, rest);
                return new Start(change(connection, earlier, ids, 0), ids, false);
            });
        } catch (RuntimeException e) {
            throw new AdminRequestFailedException(action, request.requestId(), earlier.affected(), e);
        }
    }

    private Selection selection(EventFilter filter) {
        return new Selection(store, filter, request.errorFingerprint());
    }

    private Start start() {
        try {
            return access.inTransaction(toString(), this::start);
        } catch (RuntimeException e) {
            throw new AdminRequestFailedException(action, request.requestId(), 0, e);
        }
    }

    private AuditEntry finish(Start start) {
        AuditEntry entry = start.entry();
        for (int from = BATCH; from < start.ids().size() && !request.isStopped(); from += BATCH) {
            AuditEntry before = entry;
            int first = from;
            try {
                entry = access.inTransaction(toString(), connection -> change(connection, before, start.ids(), first));
            } catch (RuntimeException e) {
                throw new AdminRequestFailedException(action, request.requestId(), before.affected(), e);
            }
        }
        return entry;
    }

    private Start start(Connection connection) {
        Selection selection = selection(request.filter(action));
        List<String> ids = selection.ids(connection, request.cap());
        long matched = ids.size() < request.cap() ? ids.size() : selection.count(connection);
        AuditEntry entry = new AuditEntry(
                request.requestId(),
                action,
                request.actor(),
                request.reason(),
                request.selection(),
                matched,
                0,
                access.ask(connection),
                null);
        if (!store.beginAudit(connection, entry)) {
            Optional<AuditEntry> earlier = store.audit(connection, request.requestId());
            return new Start(earlier.orElseThrow(), List.of(), true);
        }
        return new Start(change(connection, entry, ids, 0), ids, false);
    }

    /** Changes the batch that starts at the given index and records the change. */
    private AuditEntry change(Connection connection, AuditEntry before, List<String> ids, int from) {
        Instant now = access.ask(connection);
        int end = Math.min(from + BATCH, ids.size());
        List<String> batch = ids.subList(from, end);
        int count = switch (action) {
            case REPLAY ->
                store.replay(
                        connection, batch, request.replay(request.isContinuing() ? now : before.startedAt(), from));
            case DISCARD -> store.discard(connection, batch);
            case SKIP -> skip(connection, batch);
            case RELEASE -> store.releaseClaims(connection, batch, request.filter());
            case RUN_NOW -> store.makeDue(connection, batch, now);
            case PAUSE, RESUME, PURGE, RECONCILE ->
                throw new IllegalStateException(action + " is no request about chosen events");
        };
        Instant finishedAt = end == ids.size() ? now : null;
        store.progressAudit(connection, request.requestId(), count, finishedAt);
        return before.progressed(count, finishedAt);
    }

    private int skip(Connection connection, List<String> eventIds) {
        return eventStore.capability(EventOrder.class).orElseThrow().skip(connection, eventIds); // checked before
    }

    @Override
    public String toString() {
        return action.name().toLowerCase(Locale.ROOT) + " events";
    }
}
