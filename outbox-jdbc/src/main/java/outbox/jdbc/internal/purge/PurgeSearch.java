package outbox.jdbc.internal.purge;

import outbox.jdbc.internal.claim.LayoutFence.Piece;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** A database-specific search for the events of the standard table that a purge may delete. */
@FunctionalInterface
public interface PurgeSearch {

    /**
     * Returns the ids of events that ended before the given time, at least {@code limit} if that many exist. Empty
     * if the caller has to search with an index instead.
     */
    Optional<List<String>> find(Connection conn, EventStatus terminal, Piece isEnded, Instant doneBefore, int limit)
            throws SQLException;
}
