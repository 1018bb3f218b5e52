package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.spi.Claim;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * The data that a poller passes to the dispatcher together with an event. It is stored inside the envelope, so it
 * reaches the dispatcher through any handler and on any thread.
 */
public final class HandOver {

    private final boolean suspect;
    private final @Nullable Duration lockTimeout;
    private final Consumer<PollerNeeds> poller;
    private @Nullable Claim claim; // guarded by this; null if there is none or it was taken
    private @Nullable MetricsExporter countedBy; // guarded by this

    /**
     * Creates the data for one event.
     *
     * @param claim the claim that holds the event; null if the poller does not claim
     * @param suspect see {@link outbox.spi.ClaimedEvent#suspect()}
     * @param lockTimeout how long claims of the poller last; null if it does not claim
     * @param poller receives the needs of the dispatcher that gets the event
     */
    public HandOver(
            @Nullable Claim claim, boolean suspect, @Nullable Duration lockTimeout, Consumer<PollerNeeds> poller) {
        this.claim = claim;
        this.suspect = suspect;
        this.lockTimeout = lockTimeout;
        this.poller = poller;
    }

    /** Returns the data of this event; null if the event does not come from a poller. */
    public static @Nullable HandOver of(EventEnvelope event) {
        return EnvelopeAccess.get().handOver(event);
    }

    public boolean suspect() {
        return suspect;
    }

    /** How long claims of the poller last: a dispatcher must not count on a longer lease. */
    public @Nullable Duration lockTimeout() {
        return lockTimeout;
    }

    /**
     * Takes the claim. Returns null if there is none, if it was taken before, or if its lease has ended at the given
     * time: a claim is for one delivery, and an ended one must not replace a newer claim of the same event.
     */
    public synchronized @Nullable Claim take(long nowNanos) {
        Claim taken = claim;
        claim = null;
        return taken == null || taken.leaseEndNanos() - nowNanos <= 0 ? null : taken;
    }

    /** Restores the claim after the event was not accepted, so that the claim can be taken again. */
    public synchronized void putBack(@Nullable Claim untaken) {
        claim = untaken;
    }

    /** Passes the needs of the dispatcher that received the event to the poller. */
    public void attach(PollerNeeds needs) {
        poller.accept(needs);
    }

    /** Counts the event as handed over, unless it was already counted by the same exporter. */
    public synchronized void count(MetricsExporter metrics) {
        if (countedBy == null || !GuardedMetrics.isSame(countedBy, metrics)) {
            countedBy = metrics;
            metrics.incrementColdEnqueued();
        }
    }
}
