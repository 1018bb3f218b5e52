package outbox.reconcile;

import org.jspecify.annotations.Nullable;

import java.time.Instant;
import java.util.Objects;

/**
 * The current state of a job, for all nodes.
 *
 * @param schedule the text of the schedule
 * @param nextAt when the next run is due
 * @param checkpoint where the next run continues; null for the beginning of the window
 * @param sweptAt start of the last search that reached the end of its window; null if there was none
 * @param runId id of the current run; null if there is none
 * @param leaseUntil until when the current run holds the job, unless it renews the lease; null without a run
 * @param requestId id of the request that is waiting or being executed; null if there is none
 */
public record ReconcileStatus(
        String job,
        String schedule,
        Instant nextAt,
        @Nullable String checkpoint,
        @Nullable Instant sweptAt,
        @Nullable String runId,
        @Nullable Instant leaseUntil,
        @Nullable String requestId) {

    public ReconcileStatus {
        Objects.requireNonNull(job, "job");
        Objects.requireNonNull(schedule, "schedule");
        Objects.requireNonNull(nextAt, "nextAt");
    }
}
