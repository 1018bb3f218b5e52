package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.reconcile.ReconcileLog.Turn;

import java.sql.Connection;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Records which node runs each job, the checkpoints, and the history of runs. It is kept in the database if the
 * store supports that, otherwise in this process.
 */
interface RunBook {

    /**
     * Writes the events of a batch in the transaction of the connection, and returns their number. In a dry run,
     * only counts them.
     */
    interface Batch {
        int write(Connection connection);
    }

    void add(Collection<ReconcileJob> jobs);

    /**
     * Returns the jobs that are due or requested and that are not running. Registers a job again if the book no
     * longer has it, for example because its row was deleted.
     */
    Set<String> due(Collection<ReconcileJob> jobs);

    /**
     * Begins a run if the job is due or requested and no other run holds it. With {@code anyTime}, it
     * need not be due.
     */
    Optional<Turn> begin(ReconcileJob job, String runId, boolean dryRun, boolean anyTime);

    /**
     * Writes a batch and moves the checkpoint, both or neither.
     *
     * @param run the run before the batch
     * @return the run after the batch; empty if the run has lost its job to another run, and nothing was written
     */
    Optional<ReconcileRun> advance(ReconcileJob job, ReconcileRun run, Found found, Batch batch);

    ReconcileRun end(ReconcileJob job, ReconcileRun run, Ending how);

    /**
     * How a run ended.
     *
     * @param swept whether it reached the end of the window
     * @param cutShort whether it stopped early for a reason other than a failure of the job or of a batch, so that
     *     its work still has to be done
     * @param staysDue whether the next due time of the job stays unchanged
     */
    record Ending(@Nullable String error, boolean swept, boolean cutShort, boolean staysDue) {}

    List<ReconcileRun> runs(@Nullable String job, int limit);

    List<ReconcileStatus> jobs();
}
