package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.time.Instant;

/**
 * The holder of a leader lock, as the database reports it. A value that the database does not report, or does not
 * show to this user, is null.
 *
 * @param session id of the session, or of the holder of the lease
 * @param application the application name of the session
 * @param host the host from which it connected
 * @param since when the session began; only on PostgreSQL
 */
public record LeaderInfo(
        String session,
        @Nullable String application,
        @Nullable String host,
        @Nullable Instant since) {}
