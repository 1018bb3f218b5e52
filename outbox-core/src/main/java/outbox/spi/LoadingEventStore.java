package outbox.spi;

import outbox.Experimental;
import outbox.model.OutboxEvent;
import outbox.order.Ordering;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * A store that can claim events without reading large content, and reads that content later for as many events as
 * fit into memory. A row that is too large or unreadable therefore never blocks the delivery of other events.
 */
@Experimental
public interface LoadingEventStore extends LeasingEventStore {

    /** How much of each event a claim reads. */
    enum Content {
        /** Reads most events completely, in the same statement. Leaves large content in the table. */
        SMALL,
        /** Reads only the id. */
        IDS
    }

    /**
     * Claims events like {@link WithholdingEventStore#claimExcept}. A store without support for ordering or
     * withholding ignores these arguments.
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

    /**
     * Returns how many bytes {@link #load} would read for each event. The value is 0 for an event that is too large,
     * because its content is never read.
     */
    Map<String, Long> sizes(Connection conn, Collection<String> eventIds);

    /**
     * Reads complete events in the order of their due times. An event that is too large is returned without its
     * content and with a {@linkplain OutboxEvent#fault() fault}.
     */
    List<OutboxEvent> load(Connection conn, Collection<String> eventIds);

    /**
     * Marks unfinished events as dead that no claim would ever find, because their due time is on or after the last
     * day of the year 9999, or infinity. Skips events that a claim holds. Uses the index of the claim.
     *
     * @return the ids of up to {@code limit} events
     */
    List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit);
}
