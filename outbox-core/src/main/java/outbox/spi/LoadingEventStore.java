package outbox.spi;

import outbox.model.OutboxEvent;
import outbox.order.Ordering;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * A store that can claim events without reading what is large, and reads it afterwards, for as many events as there is
 * memory for. One row that is too large, or that cannot be read at all, thus never keeps the others from being
 * delivered.
 */
public interface LoadingEventStore extends LeasingEventStore {

    /** How much of the events a claim reads. */
    enum Content {
        /** Everything of most events, in the same statement. What is large is left in the table. */
        SMALL,
        /** The id alone. */
        IDS
    }

    /**
     * Claims on the terms of {@link WithholdingEventStore#claimExcept}. A store that knows no order or cannot withhold
     * ignores both.
     */
    List<ClaimedEvent> claimUnread(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering,
            Withheld withheld,
            Content content);

    /** How many bytes {@link #load} would read of each event. It reads nothing of one that is too large: that is 0. */
    Map<String, Long> sizes(Connection conn, Collection<String> eventIds);

    /**
     * Reads events as a whole, in the order in which they are due. One that is too large comes without its content and
     * with a {@linkplain OutboxEvent#fault() fault}.
     */
    List<OutboxEvent> load(Connection conn, Collection<String> eventIds);

    /**
     * Makes unfinished events dead that no claim would ever find, because their due time is the last day of the year
     * 9999, or later, or infinity. Events that a claim holds are left alone. Uses the index of the claim.
     *
     * @return the ids of up to {@code limit} events
     */
    List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit);
}
