package outbox.spi;

import outbox.Experimental;
import outbox.order.Ordering;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** A store whose claims can skip withheld events. */
@Experimental
public interface WithholdingEventStore extends LeasingEventStore {

    /**
     * Claims due events like {@link #claim}, or in their order if ordering is enabled, but skips withheld events.
     */
    List<ClaimedEvent> claimExcept(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering,
            Withheld withheld);

    /**
     * Marks events as dead with the given reason if they are NEW, were due at {@code dueBefore}, were never
     * attempted, are not withheld, and are next in their order if ordering is enabled. Only events that no claim
     * holds or whose lease began before {@code lockExpiry} are marked; at most {@code limit}, oldest first. Returns
     * their ids.
     */
    List<String> endUntaken(
            Connection conn,
            Instant now,
            Instant dueBefore,
            Instant lockExpiry,
            int limit,
            Ordering ordering,
            Withheld except,
            String reason);
}
