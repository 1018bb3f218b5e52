package outbox.jdbc.internal.claim;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The statements that claim events; see the methods of the store with the same names. */
public interface Claims {

    List<ClaimedEvent> claim(Connection conn, ClaimTerms terms) throws SQLException;

    Optional<ClaimedEvent> claimOne(Connection conn, Claim claim, String eventId, Due due, @Nullable Claim held)
            throws SQLException;

    /** Returns the ids of events that can be claimed, up to {@code limit} for each status. Locks nothing. */
    List<String> due(Connection conn, Due due, int limit) throws SQLException;

    List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit)
            throws SQLException;
}
