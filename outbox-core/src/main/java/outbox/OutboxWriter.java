package outbox;

import org.jspecify.annotations.Nullable;
import outbox.internal.DatabaseClock;
import outbox.internal.EventRules;
import outbox.internal.GuardedMetrics;
import outbox.internal.text.SafeLogger;
import outbox.spi.Claim;
import outbox.spi.EventControl;
import outbox.spi.EventControl.Pending;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.TxContext;
import outbox.spi.TxContext.Visibility;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Writes events into the outbox as part of the caller's transaction. The events exist if, and only if, the
 * transaction commits.
 *
 * <p>A write without a transaction, in a read-only transaction, or on a connection with auto-commit enabled fails
 * with a {@link TransactionStateException} before any SQL runs. The hook is notified after the commit; its
 * exceptions never reach the caller. Thread-safe.
 *
 * <p>Each call inserts its events immediately. {@link #gathering()} returns a writer that inserts all events of a
 * transaction together.
 */
public final class OutboxWriter {

    private static final Logger LOG = SafeLogger.of(OutboxWriter.class);

    private final TxContext txContext;
    private final EventStore eventStore;
    private final @Nullable LeasingEventStore leasing; // null if the store does not support claims
    private final @Nullable EventControl control; // null if the store does not support keys and due times
    private final @Nullable AfterCommitHook afterCommitHook;
    private final @Nullable GatheredWrites gathered; // null if every call inserts immediately
    private final boolean refusesDuplicates;
    private final InterceptedWrites intercepted;
    private final MetricsExporter metrics;
    private final WrittenEvents written; // shared with the writers derived from this one
    private final DatabaseClock clock;

    /** Creates a writer without a hook. A poller or change data capture delivers its events. */
    public OutboxWriter(TxContext txContext, EventStore eventStore) {
        this(txContext, eventStore, null);
    }

    /** @throws IllegalArgumentException if the hook belongs to the dispatcher of another table */
    public OutboxWriter(TxContext txContext, EventStore eventStore, @Nullable AfterCommitHook afterCommitHook) {
        this.txContext = Objects.requireNonNull(txContext, "txContext");
        this.eventStore = Objects.requireNonNull(eventStore, "eventStore");
        this.leasing = eventStore.capability(LeasingEventStore.class).orElse(null);
        this.control = eventStore.capability(EventControl.class).orElse(null);
        this.afterCommitHook = isNoop(afterCommitHook) ? null : afterCommitHook;
        if (afterCommitHook != null) {
            afterCommitHook.requireStore(eventStore);
        }
        this.gathered = null;
        this.refusesDuplicates = false;
        this.intercepted = InterceptedWrites.NONE;
        this.metrics = MetricsExporter.NOOP;
        this.written = new WrittenEvents(txContext);
        this.clock = new DatabaseClock(eventStore);
    }

    private static boolean isNoop(@Nullable AfterCommitHook hook) {
        return hook == AfterCommitHook.NOOP || hook == outbox.spi.AfterCommitHook.NOOP;
    }

    private OutboxWriter(
            OutboxWriter other,
            @Nullable GatheredWrites gathered,
            boolean refusesDuplicates,
            InterceptedWrites intercepted,
            MetricsExporter metrics) {
        this.txContext = other.txContext;
        this.eventStore = other.eventStore;
        this.leasing = other.leasing;
        this.control = other.control;
        this.afterCommitHook = other.afterCommitHook;
        this.gathered = gathered;
        this.refusesDuplicates = refusesDuplicates;
        this.intercepted = intercepted;
        this.metrics = metrics;
        this.written = other.written;
        this.clock = other.clock;
    }

    /**
     * Returns a writer that keeps the events of a transaction in memory and inserts them together just before the
     * commit, with as few statements as their size allows. Use it for transactions with many writes.
     *
     * <p>This has a cost: the events cannot be read from the table inside the transaction, and database errors about
     * an event, such as a duplicate id, occur at the commit instead of the write. Savepoints must be created through
     * the transaction manager, not directly on the connection. If the transaction context has no callback before the
     * commit, every call inserts immediately. A call with a {@code dedupKey} also inserts immediately, because it
     * must return the id of the event that has the key.
     */
    public OutboxWriter gathering() {
        return new OutboxWriter(this, new GatheredWrites(txContext), refusesDuplicates, intercepted, metrics);
    }

    /**
     * Returns a writer that throws {@link DuplicateKeyException} if another event has the {@code dedupKey}. Without
     * this setting, such a write does nothing and returns the id of the existing event.
     */
    public OutboxWriter refusingDuplicates() {
        return new OutboxWriter(this, gathered, true, intercepted, metrics);
    }

    /**
     * Returns a writer with one more interceptor around every write. It runs inside the interceptors added before.
     */
    public OutboxWriter interceptedBy(WriteInterceptor interceptor) {
        Objects.requireNonNull(interceptor, "interceptor");
        return new OutboxWriter(this, gathered, refusesDuplicates, intercepted.with(interceptor), metrics);
    }

    /**
     * Returns a writer that reports each committed event to the exporter; see
     * {@link MetricsExporter#recordEnqueued}.
     */
    public OutboxWriter countedBy(MetricsExporter exporter) {
        Objects.requireNonNull(exporter, "exporter");
        GatheredWrites own = gathered == null ? null : new GatheredWrites(txContext); // counts its own inserts
        return new OutboxWriter(this, own, refusesDuplicates, intercepted, GuardedMetrics.of(exporter));
    }

    /**
     * Writes an event and returns its id. If another event has its {@code dedupKey}, writes nothing and returns the
     * id of that event.
     */
    public String write(EventEnvelope event) {
        return writeAll(List.of(event)).get(0);
    }

    public String write(String eventType, String payloadJson) {
        return write(EventEnvelope.ofJson(eventType, payloadJson));
    }

    public String write(EventType eventType, String payloadJson) {
        return write(EventEnvelope.ofJson(eventType, payloadJson));
    }

    /**
     * Writes all events or none and returns their ids in the same order. See {@link #write(EventEnvelope)} for
     * events whose key is taken.
     */
    public List<String> writeAll(List<EventEnvelope> events) {
        Connection connection = writableConnection();
        List<EventEnvelope> given = List.copyOf(events);
        return intercepted == InterceptedWrites.NONE
                ? writeAll(connection, given)
                : intercepted.around(given, all -> writeAll(connection, all));
    }

    private List<String> writeAll(Connection connection, List<EventEnvelope> events) {
        List<EventEnvelope> batch = timed(connection, Hops.count(events));
        if (batch.isEmpty()) {
            return List.of();
        }
        refuseRepeatedIds(batch);
        boolean keyed = any(batch, event -> event.dedupKey() != null);
        if (keyed) {
            flush();
        } else if (gathered != null && gathered.add(batch, all -> insertBeforeCommit(connection, all))) {
            return ids(batch, Map.of());
        }
        Map<String, String> leftOut = insert(connection, batch, keyed);
        checkBeforeCommit(connection);
        return ids(batch, leftOut);
    }

    private static List<String> ids(List<EventEnvelope> events, Map<String, String> leftOut) {
        if (events.size() == 1 && leftOut.isEmpty()) { // the most common case; avoids the cost of a stream
            return List.of(events.get(0).eventId());
        }
        return events.stream()
                .map(event -> leftOut.getOrDefault(event.eventId(), event.eventId()))
                .toList();
    }

    private static boolean any(List<EventEnvelope> events, Predicate<EventEnvelope> test) {
        for (EventEnvelope event : events) {
            if (test.test(event)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Cancels an event whose delivery has not started, as part of the caller's transaction. If the transaction
     * commits, the event is never delivered. Until then no dispatcher can claim it. A rollback restores it. An event
     * can also be cancelled while it waits for its next attempt after a failure.
     */
    public Change cancel(EventRef event) {
        return change(event, (store, connection, found) -> store.cancel(connection, found));
    }

    /**
     * Changes the due time of an event whose delivery has not started. The time refers to the database clock. The
     * rules of {@link #cancel} apply.
     */
    public Change reschedule(EventRef event, Instant availableAt) {
        EventRules.checkTime("availableAt", availableAt);
        Change change = change(event, (store, connection, found) -> store.reschedule(connection, found, availableAt));
        AfterCommitHook hook = afterCommitHook;
        if (change == Change.MADE && hook != null && txContext.visibility() != Visibility.NONE) {
            txContext.afterCommit(() -> tellScheduled(hook, availableAt));
        }
        return change;
    }

    /** Makes an event whose delivery has not started due after this duration from now, by the database clock. */
    public Change reschedule(EventRef event, Duration deliverAfter) {
        EventRules.checkSpan("deliverAfter", deliverAfter);
        return reschedule(event, clock.latest(writableConnection()).plus(deliverAfter));
    }

    /**
     * Replaces the event that has the same {@code dedupKey} as the given one; see
     * {@link #replace(EventRef, EventEnvelope)}.
     */
    public Change replace(EventEnvelope replacement) {
        String key = replacement.dedupKey();
        if (key == null) {
            throw new InvalidEventException("Event " + replacement.eventId()
                    + " has no dedupKey, so it is not known which event it replaces. Name that one, or "
                    + "give it its key.");
        }
        return replace(EventRef.key(key), replacement);
    }

    /**
     * Cancels an event whose delivery has not started and writes another event instead. The new event has its own id
     * and its own position in the order of its aggregate. It is written only if the result is {@link Change#MADE}.
     */
    public Change replace(EventRef event, EventEnvelope replacement) {
        Change change = cancel(event);
        if (change == Change.MADE) {
            String written = write(replacement);
            if (!written.equals(replacement.eventId())) {
                throw new OutboxException(
                        "Event " + replacement.eventId()
                                + " could not take the place of the one that was cancelled: event " + written
                                + " has its dedupKey. Roll back.",
                        null);
            }
        }
        return change;
    }

    /** Changes an event if it is unchanged since it was found. */
    private interface Step {
        boolean on(EventControl store, Connection connection, Pending found);
    }

    private Change change(EventRef event, Step step) {
        Connection connection = writableConnection();
        EventControl store = control("The change of an event");
        flush();
        Change change = change(store, connection, event, step, false);
        if (change == Change.MADE) {
            checkBeforeCommit(connection);
        }
        return change;
    }

    /**
     * Changes an event. Reads it without a lock first, because a lock on an event that is being delivered would
     * block its mark until the caller commits.
     */
    private Change change(EventControl store, Connection connection, EventRef event, Step step, boolean latest) {
        Optional<Pending> found = store.find(connection, event, latest);
        if (found.isEmpty()) {
            return Change.NOT_FOUND;
        }
        Pending pending = found.get();
        boolean free = pending.lockedBy() == null || written.isOurs(connection, pending);
        if (pending.status().isTerminal() || !free) { // a delivery may continue after its lease expired
            return Change.TOO_LATE;
        }
        if (step.on(store, connection, pending)) {
            written.changed(connection, pending.eventId());
            return Change.MADE;
        }
        return latest ? Change.TOO_LATE : change(store, connection, event, step, true);
    }

    private EventControl control(String what) {
        if (control != null) {
            return control;
        }
        throw new IllegalArgumentException(what + " needs a store with delivery control, but "
                + eventStore.getClass().getName() + " does not implement " + EventControl.class.getName());
    }

    private void flush() {
        if (gathered != null) {
            gathered.flush();
        }
    }

    /** Converts durations relative to the write into times of the database clock. */
    private List<EventEnvelope> timed(Connection connection, List<EventEnvelope> events) {
        for (EventEnvelope event : events) {
            if (event.isControlled()) {
                control("Event " + event.eventId());
            }
        }
        if (!any(events, EventEnvelope::isTimed)) {
            return events;
        }
        Instant earliest = clock.earliest(connection);
        Instant latest = clock.latest(connection);
        return events.stream()
                .map(event -> event.isTimed() ? event.writtenAt(earliest, latest) : event)
                .toList();
    }

    private void insertBeforeCommit(Connection connection, List<EventEnvelope> events) {
        if (!events.isEmpty()) {
            insert(connection, events, false);
        }
        if (leasing != null) {
            leasing.checkCommit(connection);
        }
    }

    private void checkBeforeCommit(Connection connection) {
        LeasingEventStore checking = leasing;
        if (checking != null) {
            txContext.beforeCommit(() -> checking.checkCommit(connection));
        }
    }

    /**
     * Inserts events and registers the notification of the hook after the commit. If the transaction context cannot
     * report the commit, the events are not leased and the hook is not called; a poller delivers them.
     *
     * @return for each event that was not inserted, the id of the event that has its key
     */
    private Map<String, String> insert(Connection connection, List<EventEnvelope> events, boolean keyed) {
        boolean told = txContext.visibility() != Visibility.NONE;
        if (leasing == null) {
            events.forEach(event -> eventStore.insertNew(connection, event));
            if (told) {
                tellHookAfterCommit(connection, events, null, true);
            }
            return Map.of();
        }
        Claim birth = afterCommitHook == null || !told ? null : written.birthClaim(connection, afterCommitHook, events);
        Map<String, String> leftOut = Map.of();
        boolean lasting = false;
        if (!keyed || refusesDuplicates) {
            lasting = leasing.insertAll(connection, events, birth);
        } else {
            leftOut = control("A dedupKey").insertUnlessTaken(connection, events, birth);
        }
        List<EventEnvelope> inserted = without(leftOut, events);
        written.forget(connection, inserted);
        if (told) {
            lasting |= txContext.visibility() == Visibility.COMPLETE;
            tellHookAfterCommit(connection, kept(connection, inserted), birth, lasting);
        }
        return leftOut;
    }

    private static List<EventEnvelope> without(Map<String, String> leftOut, List<EventEnvelope> events) {
        return leftOut.isEmpty()
                ? events
                : events.stream()
                        .filter(event -> !leftOut.containsKey(event.eventId()))
                        .toList();
    }

    /** Removes the events that the store has dropped. They are neither counted nor delivered. */
    private List<EventEnvelope> kept(Connection connection, List<EventEnvelope> events) {
        if (leasing == null) {
            return events;
        }
        Set<String> dropped = leasing.dropped(connection, events);
        return dropped.isEmpty()
                ? events
                : events.stream()
                        .filter(event -> !dropped.contains(event.eventId()))
                        .toList();
    }

    private Connection writableConnection() {
        if (!txContext.isTransactionActive()) {
            throw new TransactionStateException(
                    "No transaction is active on this thread. Write events inside the transaction of the change "
                            + "they tell about.");
        }
        Connection connection = txContext.currentConnection();
        try {
            if (connection.getAutoCommit()) {
                throw new TransactionStateException("The connection of the current transaction has auto-commit on,"
                        + " so the event would be stored even if the business change is rolled back. "
                        + "Turn auto-commit off.");
            }
        } catch (SQLException e) {
            throw new OutboxException("Cannot read the state of the transaction's connection", e);
        }
        if (txContext.isReadOnly()) {
            throw new TransactionStateException(
                    "The current transaction is read-only, so no event can be written in it. Use a read-write "
                            + "transaction.");
        }
        return connection;
    }

    private static void refuseRepeatedIds(List<EventEnvelope> events) {
        if (events.size() == 1) {
            return;
        }
        Set<String> ids = new HashSet<>();
        for (EventEnvelope event : events) {
            if (!ids.add(event.eventId())) {
                throw new InvalidEventException(
                        "Event id " + event.eventId() + " occurs twice in one call of writeAll");
            }
        }
    }

    /**
     * Notifies the hook about the events after the commit.
     *
     * @param lasting true if a rollback to a savepoint cannot undo the insert without this writer noticing;
     * otherwise the table is checked before the commit for the events that still exist
     */
    private void tellHookAfterCommit(
            Connection connection, List<EventEnvelope> events, @Nullable Claim birth, boolean lasting) {
        countAfterCommit(events);
        AfterCommitHook hook = afterCommitHook;
        if (hook == null || events.isEmpty()) {
            return;
        }
        if (birth == null && hook.leavesFreeEvents()) {
            tellFreeAfterCommit(hook, events);
            return;
        }
        WrittenEvents.Tx tx = written.add(connection, events, birth);
        int write = tx.lastWrite();
        LeasingEventStore looking = leasing;
        if (!lasting && looking != null) {
            tx.doubt(events);
            txContext.beforeCommit(() -> tx.look(looking));
        }
        txContext.afterCommit(() -> {
            written.ended(tx);
            for (EventEnvelope event : events) {
                Instant due = event.availableAt();
                if (tx.isChanged(event) || tx.isGone(event, write)) {
                    continue; // undone, or the change has notified the hook
                }
                if (due != null) {
                    tellScheduled(hook, due);
                } else if (birth != null || !tx.isDoubtful(event)) { // without a claim the hook cannot check
                    tell(hook, event, tx.claimOf(event, birth));
                }
            }
        });
    }

    /**
     * Registers callbacks that do not reference the events, so that a transaction with very many events need not
     * keep them in memory.
     */
    private void tellFreeAfterCommit(AfterCommitHook hook, List<EventEnvelope> events) {
        int free = 0;
        for (EventEnvelope event : events) {
            Instant due = event.availableAt();
            if (due == null) {
                free++;
            } else {
                txContext.afterCommit(() -> tellScheduled(hook, due)); // also if cancelled: it only wakes a poller
            }
        }
        int told = free;
        if (told > 0) {
            txContext.afterCommit(() -> tellFree(hook, told));
        }
    }

    private void countAfterCommit(List<EventEnvelope> events) {
        if (metrics != MetricsExporter.NOOP && !events.isEmpty()) {
            List<String> types = events.stream().map(EventEnvelope::eventType).toList();
            txContext.afterCommit(() -> types.forEach(metrics::recordEnqueued));
        }
    }

    private static void tellFree(AfterCommitHook hook, int events) {
        try {
            hook.onFree(events);
        } catch (Throwable e) {
            LOG.log(
                    Level.ERROR,
                    "The after-commit hook failed for " + events + " events; a poller will deliver them",
                    e);
        }
    }

    private static void tellScheduled(AfterCommitHook hook, Instant availableAt) {
        try {
            hook.onScheduled(availableAt);
        } catch (Throwable e) {
            LOG.log(Level.ERROR, "The after-commit hook failed for an event that is due at " + availableAt, e);
        }
    }

    /**
     * Notifies the hook. The transaction has already committed, so no error may reach the caller; the caller might
     * repeat the business change.
     */
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

    /** The result of an attempt to change a pending event. */
    public enum Change {
        /**
         * The event was changed in the caller's transaction. If the transaction commits, the previous version is
         * never delivered.
         */
        MADE,
        /** Nothing was changed: the event is being delivered, was delivered, or is dead. */
        TOO_LATE,
        /**
         * Nothing was changed: the event does not exist. It was cancelled or never written, or it was delivered and its
         * key is free again or its row was deleted.
         */
        NOT_FOUND
    }
}
