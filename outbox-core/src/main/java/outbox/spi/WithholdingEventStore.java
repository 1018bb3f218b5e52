package outbox.spi;

import outbox.admin.Pause;
import outbox.admin.PauseScope;
import outbox.order.Ordering;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * A store that can pass over events in a claim, and remembers for all nodes what is paused.
 *
 * <p>Pauses have a place of their own, which may be missing: {@link #hasPauses} tells, and the other methods about pauses then throw an {@link outbox.OutboxException} that says what
 * to create.
 */
public interface WithholdingEventStore extends LeasingEventStore {

    /** Takes due events like {@link #claim}, or in their order if the ordering is on, but none that is withheld. */
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
     * Makes events dead, for the given reason, that are NEW, were due at {@code dueBefore} and never attempted, are next in their order if the ordering is on, and are not withheld; if nobody
     * holds them or their lease began before {@code lockExpiry}. Up to {@code limit}, the oldest first. Answers their ids.
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

    /** Whether there is a place for pauses; no error if not. */
    boolean hasPauses(Connection conn);

    /** What is paused. */
    List<Pause> pauses(Connection conn);

    /** Writes a pause; false, and the transaction can go on, if the same thing is paused already. */
    boolean pause(Connection conn, Pause pause);

    /** Ends a pause; false if there was none. */
    boolean resume(Connection conn, PauseScope scope, String name);
}
