package outbox.spi;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * How the claims of a store are divided between priority and age: of a large claim at least a quarter goes by due time alone, whatever the priorities, and of small ones each fourth as a
 * whole. So an event waits for no more than four times those that were due before it. Thread-safe.
 */
public final class PriorityShare {

    private static final int SHARE_BY_AGE = 4;

    private final AtomicInteger claims = new AtomicInteger();

    /** How many events of the next claim, which takes so many at most, are chosen by priority. */
    public int of(int limit) {
        boolean byAge = claims.incrementAndGet() % SHARE_BY_AGE == 0;
        return limit >= SHARE_BY_AGE ? limit - limit / SHARE_BY_AGE : byAge ? 0 : limit;
    }
}
