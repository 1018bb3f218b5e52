package outbox.poller;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Objects;

/**
 * The state of a poller.
 *
 * @param running whether it was started and not closed
 * @param interval the pause while there are no events, plus or minus 20 %
 * @param sinceLook time since the last cycle that read the table, or that found another node as the leader; time
 *     since the start if there was no such cycle; null if the poller was never started or polled
 * @param lastError the first line of the error of the last cycle; null if it succeeded
 */
public record PollerStatus(
        boolean running,
        Duration interval,
        @Nullable Duration sinceLook,
        @Nullable String lastError) {

    public PollerStatus {
        Objects.requireNonNull(interval, "interval");
    }
}
