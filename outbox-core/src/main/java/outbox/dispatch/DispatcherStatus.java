package outbox.dispatch;

/**
 * How a dispatcher is doing.
 *
 * @param workers how many it should have
 * @param liveWorkers how many are able to take events: fewer if listeners are stuck, none after it was closed
 * @param hotWaiting events that came right after their commit and wait for a worker
 * @param coldWaiting events that a poller brought and that wait for a worker
 */
public record DispatcherStatus(int workers, int liveWorkers, int hotWaiting, int coldWaiting) {}
