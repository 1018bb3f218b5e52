package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.ClaimInHand;
import outbox.internal.StoreAccess;
import outbox.model.OutboxEvent;
import outbox.spi.Claim;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/** Where a poller gets events from. */
interface EventSource {

    /** An event that was found, with the claim that holds it if there is one. */
    record Found(OutboxEvent row, @Nullable Claim claim, boolean suspect) {

        /** How long it takes until all of them are due for sure: the database's clock is known within bounds, and the latest that it can be tells what is due. */
        static Duration untilDue(StoreAccess access, Connection connection, List<Found> events) {
            return events.stream()
                    .map(event -> event.row().availableAt())
                    .filter(Objects::nonNull)
                    .max(Instant::compareTo)
                    .map(last -> access.until(connection, last))
                    .orElse(Duration.ZERO);
        }
    }

    /**
     * What one look at the table gave, and when it was.
     *
     * @param untilDue until what was found is due for sure; negative if it is
     * @param untilNext until more becomes due, as far as the table tells; null if it does not
     * @param expired events that nobody started by their deadline, and that are dead now
     * @param untaken events that no node took, because none knows their type, and that are dead now
     * @param unreachable events whose due time never comes, and that are dead now
     * @param cut whether there was more than there is memory for, so that more is due though the batch is not full
     */
    record Batch(
            List<Found> events,
            Instant now,
            Duration untilDue,
            @Nullable Duration untilNext,
            List<String> expired,
            List<String> untaken,
            List<String> unreachable,
            boolean cut) {

        Batch(
                List<Found> events,
                Instant now,
                Duration untilDue,
                @Nullable Duration untilNext,
                List<String> expired,
                List<String> untaken) {
            this(events, now, untilDue, untilNext, expired, untaken, List.of(), false);
        }

        Batch(List<Found> events, Instant now) {
            this(events, now, Duration.ZERO, null, List.of(), List.of());
        }

        boolean hasSuspects() {
            return events.stream().anyMatch(Found::suspect);
        }
    }

    /**
     * Looks for events.
     *
     * @param suspects whether events whose lease ran out may be among them
     */
    Batch next(int limit, boolean suspects);

    /**
     * This node leads, since the given moment of {@link System#nanoTime()}: what the leader before it had claimed is
     * no longer held by anyone.
     */
    void leads(long sinceNanos);

    /** Whether what {@link #next} answered will not be answered again by the next call. */
    boolean takes();

    /** The claim that goes with the event when it is handed over; null without one. */
    @Nullable
    ClaimInHand inHand(Found event);

    /** Gives back events that were not handed over. */
    void giveBack(List<Found> events);

    /** False if the event was no longer ours to mark. */
    boolean markDead(Found event, String error);
}
