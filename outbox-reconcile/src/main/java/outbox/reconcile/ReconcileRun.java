package outbox.reconcile;

import org.jspecify.annotations.Nullable;

import java.time.Instant;
import java.util.Objects;

/**
 * One run of a job, from its history.
 *
 * @param node the node that ran the job
 * @param startedAt start by the database's clock
 * @param endedAt end by the database's clock; null while the job is running
 * @param found number of facts without event or effect that the job found
 * @param fixed number of events that were written, or would have been written in a dry run; the other facts have an
 *     event that is pending or dead
 * @param checkpoint where the next run continues; null for the beginning of the window
 * @param error why the run failed; null if it did not
 * @param dryRun whether the run wrote no events
 * @param requestId id of the request for this run; null for a scheduled run
 */
public record ReconcileRun(
        String runId,
        String job,
        String node,
        Instant startedAt,
        @Nullable Instant endedAt,
        long found,
        long fixed,
        @Nullable String checkpoint,
        @Nullable String error,
        boolean dryRun,
        @Nullable String requestId) {

    public ReconcileRun {
        Objects.requireNonNull(runId, "runId");
        Objects.requireNonNull(job, "job");
        Objects.requireNonNull(node, "node");
        Objects.requireNonNull(startedAt, "startedAt");
    }

    /** Returns the run with the numbers of one more batch. */
    ReconcileRun progressed(int moreFound, int moreFixed, @Nullable String newCheckpoint) {
        return new ReconcileRun(
                runId,
                job,
                node,
                startedAt,
                null,
                found + moreFound,
                fixed + moreFixed,
                newCheckpoint,
                null,
                dryRun,
                requestId);
    }

    ReconcileRun ended(Instant at, @Nullable String why) {
        return new ReconcileRun(runId, job, node, startedAt, at, found, fixed, checkpoint, why, dryRun, requestId);
    }
}
