package outbox.reconcile;

import org.jspecify.annotations.Nullable;

import java.time.Instant;
import java.util.Objects;

/**
 * One run of a job, from its history.
 *
 * @param node which node ran it
 * @param startedAt by the database's clock, as is {@code endedAt}
 * @param endedAt null while it runs
 * @param found how many facts without event or effect the job found
 * @param fixed for how many of them an event was written, or would have been in a dry run; the others have one that waits, or that is dead
 * @param checkpoint where the next run goes on; null if at the beginning of the window
 * @param error why it failed; null if it did not
 * @param dryRun whether it only looked
 * @param requestId of the request that it was made for; null if its time had come
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

    /** With what a batch adds. */
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
