package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;
import outbox.spi.EventControl.Pending;
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
 * The events that the open transactions of a thread have written and that the hook receives after the commit. An
 * event that was inserted under a claim can still be changed by the transaction that wrote it, because no other
 * transaction has seen it. In that case the hook must not be notified.
 */
final class WrittenEvents {

    /** Limit for nested transactions; also bounds the entries of transactions whose end was never reported. */
    private static final int MAX_SUSPENDED = 8;

    /** The number of the last write of an event in the transaction, and its claim token, or "" without a claim. */
    private record Written(int write, String token) {}

    /** The events of one transaction. Only the thread of the transaction uses them. */
    static final class Tx {

        private final Connection connection;
        private final Map<String, Written> events = new HashMap<>(); // by id
        private final Set<String> doubtful = new HashSet<>(); // perhaps undone; the table was not checked yet
        private final Set<String> gone = new HashSet<>(); // undone by an unreported rollback to a savepoint
        private final Set<String> touched = new HashSet<>(); // changed; a rollback to a savepoint may have undone it
        private final Set<String> changed = new HashSet<>(); // the hook must not be notified about these

        private int writes; // number of writes so far
        private int leased; // number of events that were written with a claim
        private long leasedBytes; // total payload size of these events

        private Tx(Connection connection) {
            this.connection = connection;
        }

        boolean isChanged(EventEnvelope event) {
            return changed.contains(event.eventId());
        }

        /** Records that a rollback to a savepoint may have undone the insert of the events without a callback. */
        void doubt(List<EventEnvelope> written) {
            written.forEach(event -> doubtful.add(event.eventId()));
        }

        /** Checks in the table, just before the commit, which of the doubtful events still exist. */
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

        /**
         * Whether the event does not exist as a result of the given write. If an event was written twice, the first
         * write was undone.
         */
        boolean isGone(EventEnvelope event, int write) {
            Written last = events.get(event.eventId());
            return gone.contains(event.eventId()) || last == null || last.write != write;
        }

        /** Whether the transaction ended before the table was checked. */
        boolean isDoubtful(EventEnvelope event) {
            return doubtful.contains(event.eventId());
        }

        /**
         * Returns the claim to pass on with the event. If the event may have been changed or undone, only the row
         * can tell. The claim then has an expired lease, so that the receiver reads the row first.
         */
        @Nullable
        Claim claimOf(EventEnvelope event, @Nullable Claim birth) {
            return birth != null && (touched.contains(event.eventId()) || isDoubtful(event))
                    ? Claim.startingNow(birth.token(), Duration.ZERO)
                    : birth;
        }
    }

    @SuppressWarnings("ThreadLocalUsage") // per writer: each has its own hook
    private final ThreadLocal<@Nullable ArrayDeque<Tx>> open = new ThreadLocal<>(); // current one first

    private final TxContext txContext;

    WrittenEvents(TxContext txContext) {
        this.txContext = txContext;
    }

    /**
     * Asks the hook for a claim for these events together with the events that the transaction already wrote under a
     * claim. Either all of them are leased from the start or none.
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

    /** Records events that the hook will receive. The caller must call {@link #ended} after the commit. */
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

    /** Removes events that are written again, because an earlier write of this transaction was undone. */
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

    /** Whether the event is unchanged since this transaction wrote it. */
    boolean isOurs(Connection connection, Pending event) {
        Tx tx = of(connection);
        Written written = tx == null ? null : tx.events.get(event.eventId());
        return written != null && written.token.equals(event.lockedBy());
    }

    /**
     * Records that this transaction changed the event. If the context has a callback before the commit, a rollback
     * to a savepoint undoes this record.
     */
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
