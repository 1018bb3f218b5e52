package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.TxContext;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Writes events into the outbox as part of the caller's transaction: they exist if, and only if, it commits.
 *
 * <p>Outside a transaction, in a read-only one, or on a connection with auto-commit on, a write is refused with a {@link TransactionStateException} before any SQL. Events become
 * known to the hook after the commit; what a hook throws never reaches the caller. Thread-safe.
 *
 * <p>An event is inserted by the call that writes it. {@link #gathering()} gives a writer that inserts all events of a transaction together.
 */
public final class OutboxWriter {

    private static final Logger LOG = System.getLogger(OutboxWriter.class.getName());

    private final TxContext txContext;
    private final EventStore eventStore;
    private final @Nullable AfterCommitHook afterCommitHook;
    private final @Nullable GatheredWrites gathered; // null if every call inserts

    /** A writer whose events are left to a poller or to change data capture. */
    public OutboxWriter(TxContext txContext, EventStore eventStore) {
        this(txContext, eventStore, null);
    }

    public OutboxWriter(TxContext txContext, EventStore eventStore, @Nullable AfterCommitHook afterCommitHook) {
        this(txContext, eventStore, afterCommitHook, null);
    }

    private OutboxWriter(
            TxContext txContext,
            EventStore eventStore,
            @Nullable AfterCommitHook afterCommitHook,
            @Nullable GatheredWrites gathered) {
        this.txContext = Objects.requireNonNull(txContext, "txContext");
        this.eventStore = Objects.requireNonNull(eventStore, "eventStore");
        this.afterCommitHook = afterCommitHook;
        this.gathered = gathered;
    }

    /**
     * The same writer, but it keeps the events of a transaction in memory and inserts them together, with as few statements as their size allows, just before the commit. For transactions with many writes.
     *
     * <p>The price: inside the transaction the events cannot be read from the table yet, and what the database says against an event, such as an id that exists, comes from the commit
     * instead of the write. Savepoints must be made through the transaction manager, not on the connection behind its back. Where the transaction context has no moment before the
     * commit, every call inserts as before.
     */
    public OutboxWriter gathering() {
        return new OutboxWriter(txContext, eventStore, afterCommitHook, new GatheredWrites(txContext));
    }

    /** Writes an event and answers its id. */
    public String write(EventEnvelope event) {
        return writeAll(List.of(event)).get(0);
    }

    public String write(String eventType, String payloadJson) {
        return write(EventEnvelope.ofJson(eventType, payloadJson));
    }

    public String write(EventType eventType, String payloadJson) {
        return write(EventEnvelope.ofJson(eventType, payloadJson));
    }

    /** Writes all events or none, and answers their ids in the same order. */
    public List<String> writeAll(List<EventEnvelope> events) {
        Connection connection = writableConnection();
        List<EventEnvelope> batch = Hops.count(List.copyOf(events));
        if (batch.isEmpty()) {
            return List.of();
        }
        refuseRepeatedIds(batch);
        if (gathered == null || !gathered.add(batch, all -> insertBeforeCommit(connection, all))) {
            insert(connection, batch);
            if (eventStore instanceof LeasingEventStore leasing) {
                txContext.beforeCommit(() -> leasing.checkCommit(connection));
            }
        }
        return batch.stream().map(EventEnvelope::eventId).toList();
    }

    private void insertBeforeCommit(Connection connection, List<EventEnvelope> events) {
        insert(connection, events);
        if (eventStore instanceof LeasingEventStore leasing) {
            leasing.checkCommit(connection);
        }
    }

    private void insert(Connection connection, List<EventEnvelope> events) {
        if (eventStore instanceof LeasingEventStore leasing) {
            Claim birth = afterCommitHook == null ? null : afterCommitHook.birthClaim();
            leasing.insertAll(connection, events, birth);
            tellHookAfterCommit(events, birth);
        } else {
            events.forEach(event -> eventStore.insertNew(connection, event));
            tellHookAfterCommit(events, null);
        }
    }

    private Connection writableConnection() {
        if (!txContext.isTransactionActive()) {
            throw new TransactionStateException(
                    "No transaction is active on this thread. Write events inside the transaction of the change they tell about.");
        }
        Connection connection = txContext.currentConnection();
        try {
            if (connection.getAutoCommit()) {
                throw new TransactionStateException(
                        "The connection of the current transaction has auto-commit on,"
                                + " so the event would be stored even if the business change is rolled back. Turn auto-commit off.");
            }
        } catch (SQLException e) {
            throw new OutboxException("Cannot read the state of the transaction's connection", e);
        }
        if (txContext.isReadOnly()) {
            throw new TransactionStateException(
                    "The current transaction is read-only, so no event can be written in it. Use a read-write transaction.");
        }
        return connection;
    }

    private static void refuseRepeatedIds(List<EventEnvelope> events) {
        Set<String> ids = new HashSet<>();
        for (EventEnvelope event : events) {
            if (!ids.add(event.eventId())) {
                throw new InvalidEventException(
                        "Event id " + event.eventId() + " occurs twice in one call of writeAll");
            }
        }
    }

    private void tellHookAfterCommit(List<EventEnvelope> events, @Nullable Claim birth) {
        AfterCommitHook hook = afterCommitHook;
        if (hook == null || hook == AfterCommitHook.NOOP) {
            return;
        }
        txContext.afterCommit(() -> {
            for (EventEnvelope event : events) {
                tell(hook, event, birth);
            }
        });
    }

    /** The transaction has committed: whatever goes wrong here, the caller must not take it for a failure and repeat the business change. */
    private static void tell(AfterCommitHook hook, EventEnvelope event, @Nullable Claim birth) {
        try {
            hook.onCommit(event, birth);
        } catch (Throwable e) {
            LOG.log(
                    Level.ERROR,
                    "The after-commit hook failed for event " + event.eventId()
                            + "; the event is stored and a poller will deliver it",
                    e);
        }
    }
}
