package outbox.jdbc.internal.claim;

import outbox.jdbc.internal.sql.TableColumns;
import outbox.spi.ClaimRequest;

import java.time.Duration;
import java.time.Instant;

/**
 * The conditions for a claim: the event is due at {@code now}, was created at {@code latestCreation} or before, and
 * has no lease that began after {@code lockExpiry}.
 */
public record Due(Instant now, Instant lockExpiry, Instant latestCreation) {

    public static Due of(ClaimRequest request) {
        return new Due(request.now(), request.lockExpiry(), latestCreation(request.now(), request.skipRecent()));
    }

    public static Instant latestCreation(Instant now, Duration skipRecent) {
        return skipRecent.isZero() ? TableColumns.NEVER : now.minus(skipRecent);
    }

    /**
     * The condition on the creation time. It also matches an event whose creation time is out of range, so that the
     * event becomes dead. Binds: latest created_at.
     */
    public static String isOld(String createdAt) {
        return "(" + createdAt + " <= ? OR " + createdAt + " >= " + TableColumns.NEVER_SQL + ")";
    }

    /**
     * The condition that no lease is active. A lease whose start is out of range would never end, so it does not
     * count. Binds: lock expiry.
     */
    public static String isFree(String lockedAt) {
        return "(" + lockedAt + " IS NULL OR " + lockedAt + " < ? OR " + lockedAt + " >= " + TableColumns.NEVER_SQL
                + ")";
    }
}
