package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.ReconcileStatus;

import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A store that remembers for all nodes how far the jobs of a {@link outbox.reconcile.Reconciler} have come, who runs which of them, and what came of it. A run is known by its id: whoever
 * has lost the job to another run changes nothing any more.
 *
 * <p>It has places of its own for that, which may be missing: {@link #keepsReconciliation} tells, and the other methods then throw an {@link outbox.OutboxException} that says what to create.
 */
public interface ReconcilingEventStore extends LeasingEventStore {

    /**
     * What a run begins with.
     *
     * @param checkpoint where the job goes on; null if at the beginning of its window
     * @param sweepAt when the look through the window began that this run goes on with
     * @param sweptAt when the last one began that got to the end of its window; null if there was none
     */
    record Turn(
            ReconcileRun run,
            @Nullable String checkpoint,
            Instant sweepAt,
            @Nullable Instant sweptAt) {}

    /** Whether there is a place for it; no error if not. */
    boolean keepsReconciliation(Connection conn);

    /** Makes a job known, due at the given time. One that is known stays as it is, unless its schedule has changed. */
    void addJob(Connection conn, String job, String schedule, Instant nextAt);

    /** All jobs that were ever made known, by name. */
    List<ReconcileStatus> jobs(Connection conn);

    /**
     * Takes a job for a run that is due or requested, unless another has it whose lease did not end before {@code expired}. A run that lost it that way is marked as lost. If there is a
     * request, the run is for it, and is a dry run if the request, or {@code run}, says so.
     *
     * @param run the run to begin: its id, job, node and start
     * @param anyTime whether to begin although it is not due; then requests are left alone
     */
    Optional<Turn> beginRun(Connection conn, ReconcileRun run, Instant expired, Instant leaseUntil, boolean anyTime);

    /** Makes sure that the run still has its job, and lets it keep that for longer; false if it has lost it. Holds the job until the end of the transaction, so that nobody else can take it. */
    boolean keepRun(Connection conn, ReconcileRun run, Instant leaseUntil);

    /** Writes down what the run has found and fixed by now; unless it is a dry run, moves the checkpoint of the job. In a transaction in which {@link #keepRun} was true. */
    void advanceRun(Connection conn, ReconcileRun run);

    /**
     * Ends a run and sets its job free; a run that has lost the job only gets its end.
     *
     * @param run with its end
     * @param nextAt when the job is due again; null if as before
     * @param swept whether it got to the end of the window
     * @param served whether the request of the run, if it has one, is done with
     * @param keep how many runs of the job are remembered
     */
    void endRun(Connection conn, ReconcileRun run, @Nullable Instant nextAt, boolean swept, boolean served, int keep);

    /**
     * Asks for a run of a job, as soon as a node sees it; false if there is no such job, or another request waits.
     *
     * @param dryRun whether the run is only to look
     */
    boolean requestRun(Connection conn, String job, String requestId, String by, boolean dryRun, Instant now);

    /**
     * The latest runs, the newest first.
     *
     * @param job of which job; null for all
     */
    List<ReconcileRun> runs(Connection conn, @Nullable String job, int limit);

    /** The latest run that was made for a request. */
    Optional<ReconcileRun> runFor(Connection conn, String requestId);
}
