package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminRequestFailedException;
import outbox.admin.AdminResult;
import outbox.admin.EventAdministration;
import outbox.internal.Checks;
import outbox.internal.StoreAccess;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Operations for administrators on reconcile jobs, in addition to those of {@link outbox.admin.OutboxAdmin}. Every
 * call uses separate transactions, one connection at a time, and the clock of the database. Thread-safe.
 *
 * <p>A failure of the database is thrown as an {@link outbox.OutboxException}.
 */
public final class ReconcileAdmin {

    /** Maximum number of runs that {@link #runs} returns. */
    public static final int MAX_RUNS = 1000;

    private final StoreAccess access;
    private final EventAdministration store;
    private final ReconcileLog jobs; // of the same store

    /**
     * Creates an administration for the reconcile jobs of a store.
     *
     * @throws IllegalArgumentException if the store lacks {@link EventAdministration} or {@link ReconcileLog}
     */
    public ReconcileAdmin(ConnectionProvider connectionProvider, EventStore eventStore) {
        Objects.requireNonNull(connectionProvider, "connectionProvider");
        this.store = EventAdministration.of(eventStore);
        this.jobs = eventStore
                .capability(ReconcileLog.class)
                .orElseThrow(() -> new IllegalArgumentException("eventStore "
                        + eventStore.getClass().getName() + " keeps no reconcile jobs: it does not implement "
                        + ReconcileLog.class.getName()));
        this.access = new StoreAccess(connectionProvider, eventStore);
    }

    /**
     * Requests a run of a job now, on any node that has the job. The node sees the request within {@code lookEvery}
     * (5 seconds). An unconfirmed request requests a dry run and is not audited. {@link #run} returns the result.
     * The audit record of a confirmed request contains it too. A request stays until a node sees it.
     *
     * @return a result with {@code complete} false, because the run has not ended yet
     * @throws IllegalStateException if another request for the job is waiting
     * @throws IllegalArgumentException if no node has ever had such a job, or if the request id was used for
     *     something else
     * @throws AdminRequestFailedException if the request failed, for example because a table for jobs or audit
     *     records is missing; nothing was changed
     */
    public AdminResult request(ReconcileRequest request) {
        return new ReconcileRequestRun(access, store, jobs, request).run();
    }

    /** Returns all jobs that any node has ever had, by name. Returns an empty list if their table does not exist. */
    public List<ReconcileStatus> jobs() {
        return access.inTransaction(
                "read reconcile jobs",
                connection -> jobs.keepsReconciliation(connection) ? jobs.jobs(connection) : List.of());
    }

    /**
     * Returns the latest runs on all nodes, the newest first. Returns an empty list if their table does not exist.
     *
     * @param job the name of a job, or null for all jobs
     * @param limit 1 to {@value #MAX_RUNS}
     */
    public List<ReconcileRun> runs(@Nullable String job, int limit) {
        Checks.range("limit", limit, 1, MAX_RUNS);
        return access.inTransaction(
                "read runs of reconcile jobs",
                connection -> jobs.keepsReconciliation(connection) ? jobs.runs(connection, job, limit) : List.of());
    }

    /**
     * Returns the latest run for a request, or empty if there is none yet. The end of the run is not always the end
     * of the request: if a run was cut short, for example because its node was closed, another run follows. The
     * request has ended when none of the {@link #jobs} contains its id.
     */
    public Optional<ReconcileRun> run(String requestId) {
        Checks.requestId(requestId);
        return access.inTransaction("read a run of a reconcile job", connection -> jobs.runFor(connection, requestId));
    }
}
