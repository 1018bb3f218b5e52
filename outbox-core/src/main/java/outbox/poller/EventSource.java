package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.StoreAccess;
import outbox.model.OutboxEvent;
import outbox.spi.Claim;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/** The source of a poller's events. */
interface EventSource {

    /** An event from the table, with its claim if the source claims. */
    record Found(OutboxEvent row, @Nullable Claim claim, boolean suspect) {

        /**
         * Returns the time until all events are certainly due. The database's clock is only known within bounds, and
         * the claim compares due times with the upper bound.
         */
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
     * The result of one read of the table, and its time.
     *
     * @param untilDue time until all events in the batch are certainly due; negative if they are
     * @param untilNext time until more events become due; null if the store does not know
     * @param expired events that are dead now because no node started them before their deadline
     * @param untaken events that are dead now because no node knows their type
     * @param unreachable events that are dead now because their due time is out of range
     * @param cut whether events were left out for lack of memory; more events are due then, although the
     *     batch is not full
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
     * Reads or claims due events.
     *
     * @param suspects whether to include events whose lease has expired
     */
    Batch next(int limit, boolean suspects);

    /**
     * Tells the source that this node is the leader since the given value of the monotonic clock. Claims of
     * the previous leader are no longer valid.
     */
    void leads(long sinceNanos);

    /** Returns whether the next call of {@link #next} returns other events than the last one. */
    boolean takes();

    /** Releases events that were not handed to the handler. */
    void release(List<Found> events);

    /** Returns false if this node no longer holds the event. */
    boolean markDead(Found event, String error);
}
