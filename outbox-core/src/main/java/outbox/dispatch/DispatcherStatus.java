package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * How a dispatcher is doing.
 *
 * @param workers how many it should have
 * @param liveWorkers how many are able to take events: fewer if listeners are stuck, none after it was closed
 * @param hotWaiting events that came right after their commit and wait for a worker
 * @param coldWaiting events that a poller brought and that wait for a worker
 * @param marksFailingFor since the first of the failed writes of outcomes that no successful one has followed; null if
 *     the last one succeeded
 * @param lastError why the last attempt that failed did, as it was stored with the event; null if none has
 */
public record DispatcherStatus(
        int workers,
        int liveWorkers,
        int hotWaiting,
        int coldWaiting,
        @Nullable Duration marksFailingFor,
        @Nullable String lastError) {}
