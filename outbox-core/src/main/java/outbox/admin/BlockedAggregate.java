package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Instant;

/**
 * An aggregate that has a dead event in its order, so that what was written later waits, was parked with it, or has passed it, as the ordering says.
 *
 * @param eventId of the first dead event
 * @param eventType of the first dead event
 * @param deadSince when it became DEAD
 * @param lastError why
 * @param waiting how many later events of the aggregate are NEW or RETRY
 * @param alsoDead how many later events of the aggregate are DEAD, such as those that were parked
 * @param oldestWaiting when the oldest of the waiting events was stored; null if none waits
 */
public record BlockedAggregate(
        @Nullable String aggregateType,
        String aggregateId,
        String eventId,
        String eventType,
        @Nullable Instant deadSince,
        @Nullable String lastError,
        long waiting,
        long alsoDead,
        @Nullable Instant oldestWaiting) {}
