package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;
import outbox.spi.ControlledEventStore.Pending;
import outbox.spi.LeasingEventStore;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What was written in the open transactions of a thread and goes to the hook after the commit. An event that is born leased can still be changed by the transaction that wrote it,
 * since nobody else has seen it; but then the hook must not be told.
 */
final class WrittenEvents {

    private static final int MAX_SUSPENDED =
            8; // transactions around the current one; and what is left of those whose end nobody told

    /** The last write of an event by its number in the transaction, and the token that it was born with, or "". */
    private record Written(int write, String token) {}

    /** The events of one transaction. Used by its thread only. */
    static final class Tx {

        private final Connection connection;
        private final Map<String, Written> events = new HashMap<>(); // by id
        private final Set<String> doubtful = new HashSet<>(); // perhaps undone: the table was not asked yet
        private final Set<String> gone = new HashSet<>(); // undone by a rollback to a savepoint that nobody told of
        private final Set<String> touched = new HashSet<>(); // changed, but perhaps before a rollback to a savepoint
        private final Set<String> changed = new HashSet<>(); // what the hook must not hear of

        private int writes; // so far
        private int leased; // events that were written with a claim, and their bytes
        private long leasedBytes;

        private Tx(Connection connection) {
            this.connection = connection;
        }

        boolean isChanged(EventEnvelope event) {
            return changed.contains(event.eventId());
        }

        /** A rollback to a savepoint may have undone the insert of the events, and nobody told. */
        void doubt(List<EventEnvelope> written) {
            written.forEach(event -> doubtful.add(event.eventId()));
        }

        /** Asks the table, just before the commit, which of the doubtful events are still there. */
        void look(LeasingEventStore store) {
            if (!doubtful.isEmpty()) {
                gone.addAll(doubtful);
                gone.removeAll(store.existing(connection, Set.copyOf(doubtful)));
                doubtful.clear();
            }
        }

        int lastWrite() {
            return writes;
        }

        /** Whether the event does not exist, at least not by the given write: of two writes the first was undone. */
        boolean isGone(EventEnvelope event, int write) {
            Written last = events.get(event.eventId());
            return gone.contains(event.eventId()) || last == null || last.write != write;
        }

        /** Whether the transaction ended without a look at the table. */
        boolean isDoubtful(EventEnvelope event) {
            return doubtful.contains(event.eventId());
        }

        /**
         * The claim to hand over with the event. If the event may have been changed or undone after all, only the row
         * knows: a claim whose lease has ended makes the receiver ask for it.
         */
        @Nullable
        Claim claimOf(EventEnvelope event, @Nullable Claim birth) {
            return birth != null && (touched.contains(event.eventId()) || isDoubtful(event))
                    ? Claim.startingNow(birth.token(), Duration.ZERO)
                    : birth;
        }
    }

    @SuppressWarnings("ThreadLocalUsage") // per writer: another one has a hook of its own
    private final ThreadLocal<@Nullable ArrayDeque<Tx>> open = new ThreadLocal<>(); // the current one first

    private final TxContext txContext;

    WrittenEvents(TxContext txContext) {
        this.txContext = txContext;
    }

    /**
     * Asks for a claim for the events, together with those that the transaction wrote with one before. All of them are
     * born leased, or none.
     */
    @Nullable
    Claim birthClaim(Connection connection, AfterCommitHook hook, List<EventEnvelope> events) {
        Tx tx = of(connection);
        int leased = tx == null ? 0 : tx.leased;
        long bytes = tx == null ? 0 : tx.leasedBytes;
        for (EventEnvelope event : events) {
            if (event.availableAt() == null) {
                leased++;
                bytes += event.payloadSize();
            }
        }
        return hook.birthClaim(leased, bytes);
    }

    /** The hook will be told about the events; {@link #ended} must be called then. */
    Tx add(Connection connection, List<EventEnvelope> events, @Nullable Claim birth) {
        Tx tx = of(connection);
        if (tx == null) {
            tx = open(connection);
        }
        tx.writes++;
        for (EventEnvelope event : events) {
            tx.events.put(event.eventId(), new Written(tx.writes, birth == null ? "" : birth.token()));
            if (birth != null && event.availableAt() == null) {
                tx.leased++;
                tx.leasedBytes += event.payloadSize();
            }
        }
        return tx;
    }

    /** The events were written again, so a former write of this transaction was undone. */
    void forget(Connection connection, List<EventEnvelope> events) {
        Tx tx = of(connection);
        if (tx != null) {
            for (EventEnvelope event : events) {
                tx.events.remove(event.eventId());
                tx.doubtful.remove(event.eventId());
            }
        }
    }

    private Tx open(Connection connection) {
        Tx tx = new Tx(connection);
        ArrayDeque<Tx> all = open.get();
        if (all == null) {
            all = new ArrayDeque<>(2);
            open.set(all);
        }
        if (all.size() == MAX_SUSPENDED) {
            all.removeLast();
        }
        all.addFirst(tx);
        txContext.afterRollback(() -> ended(tx));
        txContext.whenUnknown(() -> ended(tx));
        return tx;
    }

    void ended(Tx tx) {
        ArrayDeque<Tx> all = open.get();
        if (all != null && all.remove(tx) && all.isEmpty()) {
            open.remove();
        }
    }

    /** Whether the event is as this very transaction wrote it. */
    boolean isOurs(Connection connection, Pending event) {
        Tx tx = of(connection);
        Written written = tx == null ? null : tx.events.get(event.eventId());
        return written != null && written.token.equals(event.lockedBy());
    }

    /** The event was changed by this transaction. A rollback to a savepoint takes that back, as long as there is a moment before the commit. */
    void changed(Connection connection, String eventId) {
        Tx tx = of(connection);
        if (tx != null && tx.events.containsKey(eventId)) {
            tx.touched.add(eventId);
            if (!txContext.beforeCommit(() -> tx.changed.add(eventId))) {
                tx.changed.add(eventId);
            }
        }
    }

    private @Nullable Tx of(Connection connection) {
        ArrayDeque<Tx> all = open.get();
        if (all != null) {
            for (Tx tx : all) {
                if (tx.connection == connection) {
                    return tx;
                }
            }
        }
        return null;
    }
}
