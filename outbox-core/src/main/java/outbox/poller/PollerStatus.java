package outbox.poller;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Objects;

/**
 * How a poller is doing.
 *
 * @param running whether it was started and not closed
 * @param interval how long it waits while there is nothing to do, give or take a fifth
 * @param sinceLook since the last cycle that did not fail, be it as a standby, or since the start if there was none; null if it was neither started nor polled by hand
 */
public record PollerStatus(
        boolean running, Duration interval, @Nullable Duration sinceLook) {

    public PollerStatus {
        Objects.requireNonNull(interval, "interval");
    }
}
