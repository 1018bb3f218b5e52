package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * The status of a dispatcher.
 *
 * @param workers the configured number of workers
 * @param liveWorkers how many workers can take events; fewer if listeners are stuck, 0 after the close
 * @param hotWaiting events that came right after their commit and wait for a worker
 * @param coldWaiting events that came from a poller and wait for a worker
 * @param marksFailingFor how long all writes of outcomes have failed; null if the last write succeeded
 * @param lastError while outcomes cannot be written, the first line of the error of the last write; otherwise the
 *     stored error of the last failed attempt; null if there is none
 */
public record DispatcherStatus(
        int workers,
        int liveWorkers,
        int hotWaiting,
        int coldWaiting,
        @Nullable Duration marksFailingFor,
        @Nullable String lastError) {}
