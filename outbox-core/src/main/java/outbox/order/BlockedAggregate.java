package outbox.order;

import org.jspecify.annotations.Nullable;

import java.time.Instant;

/**
 * An aggregate that has a dead event in its order. Depending on the ordering, later events wait, were parked with
 * the dead event, or were delivered after it.
 *
 * @param eventId the id of the first dead event
 * @param eventType the type of the first dead event
 * @param deadSince when the first dead event became DEAD
 * @param lastError the error of the first dead event
 * @param waiting the number of later events of the aggregate that are NEW or RETRY
 * @param alsoDead the number of later events of the aggregate that are DEAD, for example because they were parked
 * @param oldestWaiting when the oldest waiting event was stored; null if none waits
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
