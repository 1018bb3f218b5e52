package outbox.jdbc;

import outbox.jdbc.JdbcTable.Binds;

import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** How a table of some layout tells who holds a row. Every write to a claimed row passes here: whoever lost it changes nothing. Thread-safe. */
abstract class LayoutFence {

    /** When the lease of a suspect ended that was given back; any column can hold it. */
    static final Instant LONG_AGO = Instant.parse("1971-01-01T00:00:00Z");

    /** A piece of SQL with what it binds. */
    record Piece(String sql, Binds binds) {

        static final Piece NONE = new Piece("", binder -> {});
    }

    /** How many rows a claim must look at to find so many that are free. */
    int reach(int limit) {
        return limit;
    }

    /** The condition that nobody holds the row, beginning with AND. */
    abstract Piece free(Instant lockExpiry);

    /** Whether somebody holds an event that passed {@link #free}, without the table knowing it. */
    boolean isTaken(String eventId, Instant lockExpiry) {
        return false;
    }

    /** Whether a claim that was never given back had the event, without the table knowing it. */
    boolean wasHeld(String eventId) {
        return false;
    }

    /** The columns that hold a claim, for a SELECT, each with a comma before it. */
    abstract String columns();

    /** The assignments that make the row the claim's, beginning with a column; empty if the table has no place for it, and {@link #remember} is all. */
    abstract Piece take(String token, Instant now);

    /** The claim has these events now. */
    void remember(String token, Collection<String> eventIds, Instant now) {}

    /** Those of the events that the claim may still have; {@link #held} decides. */
    Collection<String> mine(String token, Collection<String> eventIds) {
        return eventIds;
    }

    /** The condition that the claim holds the row, beginning with AND. */
    abstract Piece held(String token);

    /** The assignments that make a row free, each with a comma before it. */
    abstract String letGo();

    /** The assignments that end the lease of a claim and keep it in the row; empty if the table has no place for it, and {@link #remember} is all. */
    abstract Piece leaseOver();

    /** Whether the table has yet to show that it keeps what {@link #take} writes. */
    boolean needsProof() {
        return false;
    }

    /** It has shown it once more. */
    void proved() {}

    /** These events of the claim are free, unless the transaction fails. */
    void forget(String token, Collection<String> eventIds) {}

    /** These events are free, whoever had them. */
    void forgetAll(Collection<String> eventIds) {}

    /** The lock of the specification: a token and a time. */
    static final class ByToken extends LayoutFence {

        private final String lockedBy;
        private final String lockedAt;
        private final String timeColumn;

        ByToken(LayoutSql sql) {
            this.lockedBy = sql.column(LayoutColumn.LOCKED_BY);
            this.lockedAt = sql.column(LayoutColumn.LOCKED_AT);
            this.timeColumn = sql.plain(LayoutColumn.LOCKED_AT);
        }

        @Override
        Piece free(Instant lockExpiry) {
            return freeSince(lockedAt, timeColumn, lockExpiry);
        }

        @Override
        String columns() {
            return ", " + lockedAt;
        }

        @Override
        Piece take(String token, Instant now) {
            return new Piece(
                    lockedBy + " = ?, " + lockedAt + " = ?",
                    binder -> binder.text(token).time(timeColumn, now));
        }

        @Override
        Piece held(String token) {
            return new Piece(" AND " + lockedBy + " = ?", binder -> binder.text(token));
        }

        @Override
        String letGo() {
            return ", " + lockedBy + " = NULL, " + lockedAt + " = NULL";
        }

        @Override
        Piece leaseOver() {
            return overSince(lockedAt, timeColumn);
        }
    }

    /** Only a time: it is the claim's own, to the microsecond, and proves it. */
    static final class ByTime extends LayoutFence {

        private final String lockedAt;
        private final String timeColumn;
        private final LockTimes times = new LockTimes();
        private final AtomicInteger proofs = new AtomicInteger();

        ByTime(LayoutSql sql) {
            this.lockedAt = sql.column(LayoutColumn.LOCKED_AT);
            this.timeColumn = sql.plain(LayoutColumn.LOCKED_AT);
        }

        @Override
        Piece free(Instant lockExpiry) {
            times.forget(lockExpiry, lockExpiry.minusSeconds(3600)); // what is so old was taken over long ago
            return freeSince(lockedAt, timeColumn, lockExpiry);
        }

        @Override
        String columns() {
            return ", " + lockedAt;
        }

        @Override
        Piece take(String token, Instant now) {
            Instant time = times.lock(token, now);
            return new Piece(lockedAt + " = ?", binder -> binder.time(timeColumn, time));
        }

        /** A column that rounds would lose every claim. Three times, since a time may be round by chance. */
        @Override
        boolean needsProof() {
            return proofs.get() < 3;
        }

        @Override
        void proved() {
            proofs.incrementAndGet();
        }

        @Override
        Collection<String> mine(String token, Collection<String> eventIds) {
            return times.of(token).isEmpty() ? List.of() : eventIds;
        }

        @Override
        Piece held(String token) {
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
        String letGo() {
            return ", " + lockedAt + " = NULL";
        }

        @Override
        Piece leaseOver() {
            return overSince(lockedAt, timeColumn);
        }
    }

    private static Piece overSince(String lockedAt, String timeColumn) {
        return new Piece(lockedAt + " = ?", binder -> binder.time(timeColumn, LONG_AGO));
    }

    private static Piece freeSince(String lockedAt, String timeColumn, Instant lockExpiry) {
        return new Piece(
                " AND " + AbstractJdbcEventStore.isFree(lockedAt), binder -> binder.time(timeColumn, lockExpiry));
    }
}
