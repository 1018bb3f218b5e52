package outbox.poller;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Objects;

/**
 * How a poller is doing.
 *
 * @param running whether it was started and not closed
 * @param interval how long it waits while there is nothing to do, give or take a fifth
 * @param sinceLook since the last cycle that looked at the table, or as a standby could ask who leads; since the start
 *     if there was none; null if it was neither started nor polled by hand
 * @param lastError why the last cycle failed, the first line of its error; null if it did not
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
