package outbox.reconcile;

import org.jspecify.annotations.Nullable;

import java.time.Instant;
import java.util.Objects;

/**
 * A job as it stands now, for all nodes.
 *
 * @param schedule in words
 * @param nextAt when its next run is due
 * @param checkpoint where that goes on; null if at the beginning of the window
 * @param sweptAt when the last run began that got to the end of its window; null if there was none
 * @param runId of the run under way; null if there is none
 * @param leaseUntil until when that has the job for itself unless it goes on; null without one
 * @param requestId of the request that waits or is being served; null if there is none
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
