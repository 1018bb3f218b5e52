package outbox.admin;

import outbox.internal.StoreAccess;

import java.sql.Connection;
import java.time.Instant;
import java.util.Optional;

/** Executes one request to pause or resume, in one transaction together with its audit record. */
final class PauseRun {

    private final StoreAccess access;
    private final EventAdministration store;
    private final EventPauses pauses; // of the same store
    private final AdminAction action;
    private final PauseRequest request;

    PauseRun(
            StoreAccess access,
            EventAdministration store,
            EventPauses pauses,
            AdminAction action,
            PauseRequest request) {
        this.access = access;
        this.store = store;
        this.pauses = pauses;
        this.action = action;
        this.request = request;
    }

    AdminResult run() {
        try {
            return access.inTransaction(action + " " + request.selection(), this::run);
        } catch (IllegalArgumentException e) { // the request id was used for a different request
            throw e;
        } catch (RuntimeException e) {
            throw new AdminRequestFailedException(action, request.requestId(), 0, e);
        }
    }

    private AdminResult run(Connection connection) {
        boolean isPaused = pauses.pauses(connection).stream() // also fails if there is no table for pauses
                .anyMatch(pause ->
                        pause.scope() == request.scope() && pause.name().equals(request.name()));
        long matched = isPaused == (action == AdminAction.RESUME) ? 1 : 0;
        Optional<AuditEntry> earlier = store.audit(connection, request.requestId());
        if (!request.isConfirmed()) {
            return new AdminResult(request.requestId(), action, true, matched, matched, true, false);
        }
        if (earlier.isPresent()) {
            return repeated(earlier.get());
        }
        Instant now = access.ask(connection);
        AuditEntry entry = new AuditEntry(
                request.requestId(),
                action,
                request.actor(),
                request.reason(),
                request.selection(),
                matched,
                0,
                now,
                null);
        if (!store.beginAudit(connection, entry)) {
            return repeated(store.audit(connection, request.requestId()).orElseThrow());
        }
        int changed = change(connection, now) ? 1 : 0;
        store.progressAudit(connection, request.requestId(), changed, now);
        return AdminResult.of(entry.progressed(changed, now), false);
    }

    private boolean change(Connection connection, Instant now) {
        return action == AdminAction.PAUSE
                ? pauses.pause(
                        connection, new Pause(request.scope(), request.name(), now, request.actor(), request.reason()))
                : pauses.resume(connection, request.scope(), request.name());
    }

    private AdminResult repeated(AuditEntry earlier) {
        if (earlier.action() != action || !earlier.selection().equals(AuditEntry.cut(request.selection()))) {
            throw new IllegalArgumentException("requestId " + request.requestId() + " was used by " + earlier.actor()
                    + " for " + earlier.action() + " of " + earlier.selection() + "; use a new one for " + action
                    + " of " + request.selection());
        }
        return AdminResult.of(earlier, true);
    }
}
