package outbox.admin;

import outbox.model.EventStatus;

import java.util.Optional;

/**
 * The number of events of a type with a given status.
 *
 * @param statusCode the value of the status column, which may be an unknown code
 */
public record TypeCount(String eventType, int statusCode, long count) {

    public TypeCount {
        if (count < 0) {
            throw new IllegalArgumentException("count must not be negative: " + count);
        }
    }

    /** Returns the status; empty if the code in the table is not a status. */
    public Optional<EventStatus> status() {
        return OutboxStatistics.statusOf(statusCode);
    }
}
