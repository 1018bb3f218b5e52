package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;
import outbox.spi.ControlledEventStore.Pending;
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

    /** The events of one transaction. Used by its thread only. */
    static final class Tx {

        private final Connection connection;
        private final Map<String, String> tokens = new HashMap<>(); // event id → token that it was born with, or ""
        private final Set<String> touched = new HashSet<>(); // changed, but perhaps before a rollback to a savepoint
        private final Set<String> changed = new HashSet<>(); // what the hook must not hear of

        private int leased; // events that were written with a claim, and their bytes
        private long leasedBytes;

        private Tx(Connection connection) {
            this.connection = connection;
        }

        boolean isChanged(EventEnvelope event) {
            return changed.contains(event.eventId());
        }

        /** The claim to hand over with the event. If the event may have been changed after all, only the row knows: a claim whose lease has ended makes the receiver ask for it. */
        @Nullable
        Claim claimOf(EventEnvelope event, @Nullable Claim birth) {
            return birth != null && touched.contains(event.eventId())
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
        for (EventEnvelope event : events) {
            tx.tokens.put(event.eventId(), birth == null ? "" : birth.token());
            if (birth != null && event.availableAt() == null) {
                tx.leased++;
                tx.leasedBytes += event.payloadSize();
            }
        }
        return tx;
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
        return tx != null && event.lockedBy() != null && event.lockedBy().equals(tx.tokens.get(event.eventId()));
    }

    /** The event was changed by this transaction. A rollback to a savepoint takes that back, as long as there is a moment before the commit. */
    void changed(Connection connection, String eventId) {
        Tx tx = of(connection);
        if (tx != null && tx.tokens.containsKey(eventId)) {
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
