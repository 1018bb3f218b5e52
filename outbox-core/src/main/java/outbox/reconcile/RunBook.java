package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.spi.ReconcilingEventStore.Turn;

import java.sql.Connection;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Who runs which job, how far it has come, and what came of it: in the database where there is a place for it, else in this process. */
interface RunBook {

    /** Writes the events of a batch in the transaction of the connection, and answers how many; in a dry run it only counts. */
    interface Batch {
        int write(Connection connection);
    }

    void add(Collection<ReconcileJob> jobs);

    /** Those of the jobs that are due or requested, and that nobody runs. One that is not known any more, such as after its row was deleted, is made known anew. */
    Set<String> due(Collection<ReconcileJob> jobs);

    /** Begins a run, if the job is due or requested and nobody has it; at any time if that is asked for. */
    Optional<Turn> begin(ReconcileJob job, String runId, boolean dryRun, boolean anyTime);

    /**
     * Writes a batch and moves the checkpoint, both or nothing.
     *
     * @param run as it was before
     * @return the run as it is now; empty, and nothing was written, if it has lost its job to another
     */
    Optional<ReconcileRun> advance(ReconcileJob job, ReconcileRun run, Found found, Batch batch);

    ReconcileRun end(ReconcileJob job, ReconcileRun run, Ending how);

    /**
     * How a run ended.
     *
     * @param swept whether it got to the end of the window
     * @param cutShort whether it was kept from that by neither the job nor a batch, so that what it was for is still to be done
     * @param staysDue whether the job is due as before
     */
    record Ending(@Nullable String error, boolean swept, boolean cutShort, boolean staysDue) {}

    List<ReconcileRun> runs(@Nullable String job, int limit);

    List<ReconcileStatus> jobs();
}
