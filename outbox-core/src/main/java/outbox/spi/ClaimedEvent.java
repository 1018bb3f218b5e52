package outbox.spi;

import outbox.model.OutboxEvent;

/**
 * An event together with the claim that holds it.
 *
 * @param suspect whether the lease of an earlier claim ran out, so that an earlier run may have ended with its process; such an event's next run is recorded before it starts
 * @param complete false if a part of the event was left in the table, see {@link LoadingEventStore}
 */
public record ClaimedEvent(OutboxEvent event, Claim claim, boolean suspect, boolean complete) {

    public ClaimedEvent(OutboxEvent event, Claim claim, boolean suspect) {
        this(event, claim, suspect, true);
    }
}
