package outbox.admin;

import outbox.internal.StoreAccess;
import outbox.spi.AdminEventStore;

import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One confirmed request. Its events are a snapshot: their ids are read once, so an event that dies again meanwhile is not changed twice, and none that dies later is added.
 *
 * <p>The first transaction reads the ids, writes the audit record and changes the first batch; so a request of up to {@value #BATCH} events happens as a whole or not at all. Each
 * further one changes a batch and adds its number to the record. Wherever the process dies, the record says exactly what was done.
 */
final class RequestRun {

    static final int BATCH = 500;

    private final StoreAccess access;
    private final AdminEventStore store;
    private final AdminAction action;
    private final AdminRequest request;

    RequestRun(StoreAccess access, AdminEventStore store, AdminAction action, AdminRequest request) {
        this.access = access;
        this.store = store;
        this.action = action;
        this.request = request;
    }

    /** What the first transaction did; nothing is left to do if it was not the first with this id. */
    private record Start(AuditEntry entry, List<String> left, boolean repeated) {}

    /** Answers what the request did when it was made before. */
    AdminResult repeat(AuditEntry earlier) {
        if (earlier.action() != action || !earlier.selection().equals(AuditEntry.cut(request.selection()))) {
            throw new IllegalArgumentException("requestId " + request.requestId() + " was used by " + earlier.actor()
                    + " for " + earlier.action() + " of " + earlier.selection() + "; use a new one for " + action
                    + " of " + request.selection());
        }
        return AdminResult.of(earlier, true);
    }

    AdminResult run() {
        Start start = start();
        return start.repeated() ? repeat(start.entry()) : AdminResult.of(finish(start), false);
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
        for (List<String> left = start.left(); !left.isEmpty(); left = afterBatch(left)) {
            AuditEntry before = entry;
            List<String> ids = left;
            try {
                entry = access.inTransaction(toString(), connection -> change(connection, before, ids));
            } catch (RuntimeException e) {
                throw new AdminRequestFailedException(action, request.requestId(), before.affected(), e);
            }
        }
        return entry;
    }

    private Start start(Connection connection) {
        EventFilter filter = request.filter(action);
        List<String> ids = store.findIds(connection, filter, request.cap());
        long matched = ids.size() < request.cap() ? ids.size() : store.count(connection, filter);
        AuditEntry entry = new AuditEntry(
                request.requestId(),
                action,
                request.actor(),
                request.reason(),
                request.selection(),
                matched,
                0,
                store.now(connection),
                null);
        if (!store.beginAudit(connection, entry)) {
            Optional<AuditEntry> earlier = store.audit(connection, request.requestId());
            return new Start(earlier.orElseThrow(), List.of(), true);
        }
        return new Start(change(connection, entry, ids), afterBatch(ids), false);
    }

    /** Changes the first batch of what is left, and records it. */
    private AuditEntry change(Connection connection, AuditEntry before, List<String> left) {
        Instant now = store.now(connection);
        List<String> batch = left.subList(0, Math.min(BATCH, left.size()));
        int count = switch (action) {
            case REPLAY -> store.replay(connection, batch, now);
            case DISCARD -> store.discard(connection, batch);
            case SKIP -> OutboxAdmin.ordered(store).skip(connection, batch);
            case PAUSE, RESUME -> throw new IllegalStateException(action + " changes no events");
        };
        Instant finishedAt = left.size() <= BATCH ? now : null;
        store.progressAudit(connection, request.requestId(), count, finishedAt);
        return before.progressed(count, finishedAt);
    }

    private static List<String> afterBatch(List<String> left) {
        return left.subList(Math.min(BATCH, left.size()), left.size());
    }

    @Override
    public String toString() {
        return action.name().toLowerCase(Locale.ROOT) + " dead events";
    }
}
