package outbox.reconcile;

import outbox.admin.AdminAction;
import outbox.admin.AdminRequestFailedException;
import outbox.admin.AdminResult;
import outbox.admin.AuditEntry;
import outbox.admin.EventAdministration;
import outbox.internal.StoreAccess;

import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Stores one request for a run of a reconcile job. A confirmed request gets an audit record in the same transaction.
 * The run completes that record.
 */
final class ReconcileRequestRun {

    private final StoreAccess access;
    private final EventAdministration store;
    private final ReconcileLog jobs; // of the same store
    private final ReconcileRequest request;

    ReconcileRequestRun(StoreAccess access, EventAdministration store, ReconcileLog jobs, ReconcileRequest request) {
        this.access = access;
        this.store = store;
        this.jobs = jobs;
        this.request = request;
    }

    AdminResult run() {
        try {
            return access.inTransaction("ask for a run of " + request.selection(), this::run);
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new AdminRequestFailedException(AdminAction.RECONCILE, request.requestId(), 0, e);
        }
    }

    private AdminResult run(Connection connection) {
        ReconcileStatus status = status(connection);
        Optional<AuditEntry> earlier = store.audit(connection, request.requestId()); // with this id, for any action
        if (earlier.isPresent()) {
            return repeated(earlier.get());
        }
        // also true if a run was cut short and will continue
        boolean waits = request.requestId().equals(status.requestId());
        Optional<ReconcileRun> made = jobs.runFor(connection, request.requestId());
        if (made.isPresent() || waits) {
            String job = made.map(ReconcileRun::job).orElse(request.job());
            // a confirmed request would have an audit record
            if (request.isConfirmed() || !job.equals(request.job())) {
                throw new IllegalArgumentException(
                        "requestId " + request.requestId() + " was used for a dry run of job " + job
                                + "; use a new one for " + AdminAction.RECONCILE + " of " + request.selection());
            }
            return dry(made.map(ReconcileRun::fixed).orElse(0L), !waits, true);
        }
        Instant now = access.ask(connection);
        if (request.isConfirmed() && !store.beginAudit(connection, entry(now))) {
            return repeated(store.audit(connection, request.requestId()).orElseThrow());
        }
        if (!jobs.requestRun(
                connection, request.job(), request.requestId(), request.actor(), !request.isConfirmed(), now)) {
            throw new IllegalStateException("Another request for " + request.selection() + " waits already"
                    + (status.requestId() == null ? "" : ": " + status.requestId()) + "; try again when it is done");
        }
        return request.isConfirmed() ? AdminResult.of(entry(now), false) : dry(0, false, false);
    }

    private AuditEntry entry(Instant now) {
        return new AuditEntry(
                request.requestId(),
                AdminAction.RECONCILE,
                request.actor(),
                request.reason(),
                request.selection(),
                0,
                0,
                now,
                null);
    }

    private AdminResult dry(long affected, boolean complete, boolean repeated) {
        return new AdminResult(
                request.requestId(), AdminAction.RECONCILE, true, affected, affected, complete, repeated);
    }

    private ReconcileStatus status(Connection connection) {
        List<ReconcileStatus> known = jobs.jobs(connection);
        return known.stream()
                .filter(status -> status.job().equals(request.job()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("No node has ever had a reconcile job "
                        + request.job() + "; known: "
                        + known.stream().map(ReconcileStatus::job).toList()));
    }

    private AdminResult repeated(AuditEntry earlier) {
        if (earlier.action() != AdminAction.RECONCILE || !earlier.selection().equals(request.selection())) {
            throw new IllegalArgumentException("requestId " + request.requestId() + " was used by " + earlier.actor()
                    + " for " + earlier.action() + " of " + earlier.selection() + "; use a new one for "
                    + AdminAction.RECONCILE + " of " + request.selection());
        }
        return AdminResult.of(earlier, true);
    }
}
