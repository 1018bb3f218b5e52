package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.time.Instant;

/**
 * Who has the lock of a leader, as the database tells. What it does not tell, or does not tell this user, is null.
 *
 * @param session id of the session, or of the holder of the lease
 * @param application by which the session names itself
 * @param host from which it connected
 * @param since when the session began; PostgreSQL tells it
 */
public record LeaderInfo(
        String session,
        @Nullable String application,
        @Nullable String host,
        @Nullable Instant since) {}
