package outbox.jdbc.internal.claim;

import outbox.jdbc.internal.sql.Binds;

import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Determines which claim holds a row of a table. Every write to a claimed row uses this class, so that a claim that
 * lost the row changes nothing. Thread-safe.
 */
public abstract class LayoutFence {

    /** The lease time that is written when a suspect is released. Any time column can hold it. */
    public static final Instant LONG_AGO = Instant.parse("1971-01-01T00:00:00Z");

    /** A piece of SQL with its parameters. */
    public record Piece(String sql, Binds binds) {

        public static final Piece NONE = new Piece("", binder -> {});
    }

    /** Returns how many rows a claim must read to find {@code limit} free ones. */
    public int reach(int limit) {
        return limit;
    }

    /** Returns the condition that no claim holds the row, beginning with AND. */
    public abstract Piece free(Instant lockExpiry);

    /** Whether a claim holds an event that passed {@link #free}, if the table does not store claims. */
    public boolean isTaken(String eventId, Instant lockExpiry) {
        return false;
    }

    /** Whether an earlier claim of the event was never released, if the table does not store claims. */
    public boolean wasHeld(String eventId) {
        return false;
    }

    /** Returns the columns that contain a claim, for a SELECT, each with a comma before it. */
    public abstract String columns();

    /**
     * Returns the assignments that give the row to the claim, beginning with a column. Empty if the table has no
     * columns for claims; then only {@link #remember} applies.
     */
    public abstract Piece take(String token, Instant now);

    /** Returns the assignments that restart the lease of the claim. */
    public Piece renew(String token, Instant now) {
        return take(token, now);
    }

    /** Remembers that the claim holds these events. */
    public void remember(String token, Collection<String> eventIds, Instant now) {}

    /** Returns the events that the claim may still hold. {@link #held} decides. */
    public Collection<String> mine(String token, Collection<String> eventIds) {
        return eventIds;
    }

    /** Returns the condition that the claim holds the row, beginning with AND. */
    public abstract Piece held(String token);

    /** Returns the assignments that release a row, each with a comma before it. */
    public abstract String letGo();

    /**
     * Returns the assignments that end the lease and keep the claim in the row. Empty if the table has no columns
     * for claims; then only {@link #remember} applies.
     */
    public abstract Piece leaseOver();

    /** Whether it still has to be verified that the table stores the values of {@link #take} exactly. */
    public boolean needsProof() {
        return false;
    }

    /** Records one successful verification. */
    public void proved() {}

    /** Releases these events of the claim. If the transaction fails, the claim still holds them. */
    public void forget(String token, Collection<String> eventIds) {}

    /** Releases these events, whichever claim holds them. */
    public void forgetAll(Collection<String> eventIds) {}

    /** The lock columns of the specification: a token and a time. */
    public static final class ByToken extends LayoutFence {

        private final String lockedBy;
        private final String lockedAt;
        private final String timeColumn;

        /**
         * @param lockedBy the column of the token, as statements name it
         * @param lockedAt the column of the time, as statements name it
         * @param timeColumn the column of the time, as the columns of the table name it
         */
        public ByToken(String lockedBy, String lockedAt, String timeColumn) {
            this.lockedBy = lockedBy;
            this.lockedAt = lockedAt;
            this.timeColumn = timeColumn;
        }

        @Override
        public Piece free(Instant lockExpiry) {
            return freeSince(lockedAt, timeColumn, lockExpiry);
        }

        @Override
        public String columns() {
            return ", " + lockedAt;
        }

        @Override
        public Piece take(String token, Instant now) {
            return new Piece(
                    lockedBy + " = ?, " + lockedAt + " = ?",
                    binder -> binder.text(token).time(timeColumn, now));
        }

        @Override
        public Piece renew(String token, Instant now) {
            return new Piece(lockedAt + " = ?", binder -> binder.time(timeColumn, now));
        }

        @Override
        public Piece held(String token) {
            return new Piece(" AND " + lockedBy + " = ?", binder -> binder.text(token));
        }

        @Override
        public String letGo() {
            return ", " + lockedBy + " = NULL, " + lockedAt + " = NULL";
        }

        @Override
        public Piece leaseOver() {
            return overSince(lockedAt, timeColumn);
        }
    }

    /** A time only. Each claim has its own time, exact to the microsecond, which identifies the claim. */
    public static final class ByTime extends LayoutFence {

        private final String lockedAt;
        private final String timeColumn;
        private final LockTimes times = new LockTimes();
        private final AtomicInteger proofs = new AtomicInteger();

        /** The parameters are those of {@link ByToken}. */
        public ByTime(String lockedAt, String timeColumn) {
            this.lockedAt = lockedAt;
            this.timeColumn = timeColumn;
        }

        @Override
        public Piece free(Instant lockExpiry) {
            times.forget(lockExpiry, lockExpiry.minusSeconds(3600)); // other claims took over such old ones long ago
            return freeSince(lockedAt, timeColumn, lockExpiry);
        }

        @Override
        public String columns() {
            return ", " + lockedAt;
        }

        @Override
        public Piece take(String token, Instant now) {
            Instant time = times.lock(token, now);
            return new Piece(lockedAt + " = ?", binder -> binder.time(timeColumn, time));
        }

        /**
         * A column that rounds times would lose every claim. Verified three times, because a time may be a round
         * value by chance.
         */
        @Override
        public boolean needsProof() {
            return proofs.get() < 3;
        }

        @Override
        public void proved() {
            proofs.incrementAndGet();
        }

        @Override
        public Collection<String> mine(String token, Collection<String> eventIds) {
            return times.of(token).isEmpty() ? List.of() : eventIds;
        }

        @Override
        public Piece held(String token) {
            List<Instant> own = times.of(token);
            if (own.isEmpty()) {
                return new Piece(" AND 1 = 0", binder -> {});
            }
            return new Piece(" AND " + lockedAt + " IN (?" + ", ?".repeat(own.size() - 1) + ")", binder -> {
                for (Instant time : own) {
                    binder.time(timeColumn, time);
                }
            });
        }

        @Override
        public String letGo() {
            return ", " + lockedAt + " = NULL";
        }

        @Override
        public Piece leaseOver() {
            return overSince(lockedAt, timeColumn);
        }
    }

    private static Piece overSince(String lockedAt, String timeColumn) {
        return new Piece(lockedAt + " = ?", binder -> binder.time(timeColumn, LONG_AGO));
    }

    private static Piece freeSince(String lockedAt, String timeColumn, Instant lockExpiry) {
        return new Piece(" AND " + Due.isFree(lockedAt), binder -> binder.time(timeColumn, lockExpiry));
    }
}
