package outbox.admin;

import outbox.model.EventStatus;

import java.util.Optional;

/**
 * How many events of a type have a status.
 *
 * @param statusCode what stands in the status column, be it a status or not
 */
public record TypeCount(String eventType, int statusCode, long count) {

    public TypeCount {
        if (count < 0) {
            throw new IllegalArgumentException("count must not be negative: " + count);
        }
    }

    /** The status; empty if the code in the table is of none. */
    public Optional<EventStatus> status() {
        return OutboxStatistics.statusOf(statusCode);
    }
}
