package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.ClaimInHand;
import outbox.model.OutboxEvent;
import outbox.spi.Claim;

import java.time.Instant;
import java.util.List;

/** Where a poller gets events from. */
interface EventSource {

    /** An event that was found, with the claim that holds it if there is one. */
    record Found(OutboxEvent row, @Nullable Claim claim, boolean suspect) {}

    /** What one look at the table gave, and when it was. */
    record Batch(List<Found> events, Instant now) {}

    Batch next(int limit);

    /** Whether what {@link #next} answered will not be answered again by the next call. */
    boolean takes();

    /** The claim that goes with the event when it is handed over; null without one. */
    @Nullable
    ClaimInHand inHand(Found event);

    /** Gives back events that were not handed over. */
    void giveBack(List<Found> events);

    void markDead(Found event, String error);
}
