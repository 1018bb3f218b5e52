package outbox.spi;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Divides the claims of a store between priority and age. At least a quarter of each large claim ignores priority
 * and takes the events that are due longest. Of small claims, every fourth one does so entirely. Therefore an event
 * waits for at most four times the number of events that were due before it. Thread-safe.
 */
public final class PriorityShare {

    private static final int SHARE_BY_AGE = 4;

    private final AtomicInteger claims = new AtomicInteger();

    /**
     * Returns how many events of the next claim are chosen by priority.
     *
     * @param limit the maximum number of events in the claim
     */
    public int of(int limit) {
        boolean byAge = claims.incrementAndGet() % SHARE_BY_AGE == 0;
        return limit >= SHARE_BY_AGE ? limit - limit / SHARE_BY_AGE : byAge ? 0 : limit;
    }
}
