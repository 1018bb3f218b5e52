package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.Experimental;

import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The capability of a store that keeps the state of the jobs of a {@link Reconciler} for all nodes: their
 * checkpoints, the node that runs each job, and the history of runs. A run is identified by its id. A run that has
 * lost its job to another run can no longer change the job.
 *
 * <p>The store keeps this in separate tables, which may be missing. {@link #keepsReconciliation} returns whether
 * they exist. If they do not, the other methods throw an {@link outbox.OutboxException} that says what to create.
 */
@Experimental
public interface ReconcileLog {

    /**
     * The state with which a run begins.
     *
     * @param checkpoint where the job continues; null for the beginning of its window
     * @param sweepAt start of the search through the window that this run continues
     * @param sweptAt start of the last search that reached the end of its window; null if there was none
     */
    record Turn(
            ReconcileRun run,
            @Nullable String checkpoint,
            Instant sweepAt,
            @Nullable Instant sweptAt) {}

    /** Returns whether the tables for jobs and runs exist. Does not throw if they do not. */
    boolean keepsReconciliation(Connection conn);

    /**
     * Registers a job that is due at the given time. Does not change a registered job unless its
     * schedule has changed.
     */
    void addJob(Connection conn, String job, String schedule, Instant nextAt);

    /** Returns all jobs that were ever registered, by name. */
    List<ReconcileStatus> jobs(Connection conn);

    /**
     * Takes a job for a run, if the job is due or requested and no other run holds it. Another run has lost the job,
     * and is marked as lost, if its lease ended before {@code expired}. If there is a request, the run serves it.
     * The run is a dry run if the request or {@code run} says so.
     *
     * @param run the run to begin, with its id, job, node and start
     * @param anyTime whether to begin even if the job is not due; requests are ignored then
     */
    Optional<Turn> beginRun(Connection conn, ReconcileRun run, Instant expired, Instant leaseUntil, boolean anyTime);

    /**
     * Checks that the run still holds its job, and extends its lease. Returns false if the run has lost the job.
     * Locks the job until the end of the transaction, so that no other run can take it.
     */
    boolean keepRun(Connection conn, ReconcileRun run, Instant leaseUntil);

    /**
     * Records what the run has found and fixed so far. Unless it is a dry run, moves the checkpoint of the job. Must
     * be called in a transaction in which {@link #keepRun} returned true.
     */
    void advanceRun(Connection conn, ReconcileRun run);

    /**
     * Ends a run and releases its job. If the run has lost the job, only the end of the run is recorded.
     *
     * @param run the run with its end
     * @param nextAt when the job is due again; null to leave this unchanged
     * @param swept whether the run reached the end of the window
     * @param served whether the request of the run, if there is one, is complete
     * @param keep maximum number of runs of the job in the history
     */
    void endRun(Connection conn, ReconcileRun run, @Nullable Instant nextAt, boolean swept, boolean served, int keep);

    /**
     * Requests a run of a job as soon as a node sees the request. Returns false if there is no such job, or if
     * another request is waiting.
     *
     * @param dryRun whether the run should write no events
     */
    boolean requestRun(Connection conn, String job, String requestId, String by, boolean dryRun, Instant now);

    /**
     * Returns the latest runs, the newest first.
     *
     * @param job name of a job; null for all jobs
     */
    List<ReconcileRun> runs(Connection conn, @Nullable String job, int limit);

    /** Returns the latest run for a request. */
    Optional<ReconcileRun> runFor(Connection conn, String requestId);
}
