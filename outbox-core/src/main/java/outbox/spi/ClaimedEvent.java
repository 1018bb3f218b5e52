package outbox.spi;

import outbox.model.OutboxEvent;

/**
 * An event together with the claim that holds it.
 *
 * @param suspect whether the lease of an earlier claim expired, so that an earlier delivery may have crashed its
 * process. The next attempt of such an event is counted before it starts
 * @param complete false if a part of the event was not read from the table, see {@link LeasingEventStore#load}
 */
public record ClaimedEvent(OutboxEvent event, Claim claim, boolean suspect, boolean complete) {

    public ClaimedEvent(OutboxEvent event, Claim claim, boolean suspect) {
        this(event, claim, suspect, true);
    }
}
