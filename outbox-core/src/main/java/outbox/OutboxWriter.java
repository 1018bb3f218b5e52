package outbox;

import org.jspecify.annotations.Nullable;
import outbox.internal.DatabaseClock;
import outbox.internal.EventRules;
import outbox.internal.GuardedMetrics;
import outbox.spi.Claim;
import outbox.spi.ControlledEventStore;
import outbox.spi.ControlledEventStore.Pending;
import outbox.spi.DroppingEventStore;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;
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
 * Writes events into the outbox as part of the caller's transaction: they exist if, and only if, it commits.
 *
 * <p>Outside a transaction, in a read-only one, or on a connection with auto-commit on, a write is refused with a {@link TransactionStateException} before any SQL. Events become
 * known to the hook after the commit; what a hook throws never reaches the caller. Thread-safe.
 *
 * <p>An event is inserted by the call that writes it, or before anybody in the transaction can look, at the latest with the commit. {@link #gathering()} gives a writer that inserts all events of a transaction together.
 */
public final class OutboxWriter {

    private static final Logger LOG = SafeLogger.of(OutboxWriter.class);

    private final TxContext txContext;
    private final EventStore eventStore;
    private final @Nullable AfterCommitHook afterCommitHook;
    private final @Nullable GatheredWrites gathered; // null if every call inserts
    private final boolean refusesDuplicates;
    private final InterceptedWrites intercepted;
    private final MetricsExporter metrics;
    private final WrittenEvents written; // shared with the writers made of this one
    private final DatabaseClock clock;

    /** A writer whose events are left to a poller or to change data capture. */
    public OutboxWriter(TxContext txContext, EventStore eventStore) {
        this(txContext, eventStore, null);
    }

    /** @throws IllegalArgumentException if the hook belongs to the dispatcher of another table */
    public OutboxWriter(TxContext txContext, EventStore eventStore, @Nullable AfterCommitHook afterCommitHook) {
        this.txContext = Objects.requireNonNull(txContext, "txContext");
        this.eventStore = Objects.requireNonNull(eventStore, "eventStore");
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
        this.afterCommitHook = other.afterCommitHook;
        this.gathered = gathered;
        this.refusesDuplicates = refusesDuplicates;
        this.intercepted = intercepted;
        this.metrics = metrics;
        this.written = other.written;
        this.clock = other.clock;
    }

    /**
     * The same writer, but it keeps the events of a transaction in memory and inserts them together, with as few statements as their size allows, just before the commit. For transactions with many writes.
     *
     * <p>The price: inside the transaction the events cannot be read from the table yet, and what the database says against an event, such as an id that exists, comes from the commit
     * instead of the write. Savepoints must be made through the transaction manager, not on the connection behind its back. Where the transaction context has no moment before the
     * commit, every call inserts as before. So does a call with a {@code dedupKey}, which must tell who has it.
     */
    public OutboxWriter gathering() {
        return new OutboxWriter(this, new GatheredWrites(txContext), refusesDuplicates, intercepted, metrics);
    }

    /** The same writer, but a {@code dedupKey} that another event has is refused with a {@link DuplicateKeyException}; otherwise such a write does nothing and answers the id of that event. */
    public OutboxWriter refusingDuplicates() {
        return new OutboxWriter(this, gathered, true, intercepted, metrics);
    }

    /** The same writer, with one more interceptor around every write, inside of those before it. */
    public OutboxWriter interceptedBy(WriteInterceptor interceptor) {
        Objects.requireNonNull(interceptor, "interceptor");
        return new OutboxWriter(this, gathered, refusesDuplicates, intercepted.with(interceptor), metrics);
    }

    /** The same writer, but it tells the exporter about each event that was committed; see {@link MetricsExporter#recordEnqueued}. */
    public OutboxWriter countedBy(MetricsExporter exporter) {
        Objects.requireNonNull(exporter, "exporter");
        GatheredWrites own = gathered == null ? null : new GatheredWrites(txContext); // whoever inserts, counts
        return new OutboxWriter(this, own, refusesDuplicates, intercepted, GuardedMetrics.of(exporter));
    }

    /** Writes an event and answers its id; or writes nothing, and answers the id of the event that has its {@code dedupKey}. */
    public String write(EventEnvelope event) {
        return writeAll(List.of(event)).get(0);
    }

    public String write(String eventType, String payloadJson) {
        return write(EventEnvelope.ofJson(eventType, payloadJson));
    }

    public String write(EventType eventType, String payloadJson) {
        return write(EventEnvelope.ofJson(eventType, payloadJson));
    }

    /** Writes all events or none, and answers their ids in the same order; see {@link #write(EventEnvelope)} for those whose key is taken. */
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
        if (events.size() == 1 && leftOut.isEmpty()) { // the usual write, without the cost of a stream
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
     * Cancels an event that nobody delivers yet, as part of the caller's transaction: if that commits, the event is never delivered. Until then nobody can take it; after a rollback it is as
     * before. An event whose last attempt failed can be cancelled while it waits for the next one.
     */
    public Change cancel(EventRef event) {
        return change(event, (store, connection, found) -> store.cancel(connection, found));
    }

    /** Makes an event that nobody delivers yet due at another time of the database's clock, on the terms of {@link #cancel}. */
    public Change reschedule(EventRef event, Instant availableAt) {
        EventRules.checkTime("availableAt", availableAt);
        Change change = change(event, (store, connection, found) -> store.reschedule(connection, found, availableAt));
        AfterCommitHook hook = afterCommitHook;
        if (change == Change.MADE && hook != null && txContext.visibility() != Visibility.NONE) {
            txContext.afterCommit(() -> tellScheduled(hook, availableAt));
        }
        return change;
    }

    /** Makes an event that nobody delivers yet due so long after now, by the database's clock. */
    public Change reschedule(EventRef event, Duration deliverAfter) {
        EventRules.checkSpan("deliverAfter", deliverAfter);
        return reschedule(event, clock.latest(writableConnection()).plus(deliverAfter));
    }

    /** Replaces the event that has the {@code dedupKey} of the given one, on the terms of {@link #replace(EventRef, EventEnvelope)}. */
    public Change replace(EventEnvelope replacement) {
        String key = replacement.dedupKey();
        if (key == null) {
            throw new InvalidEventException(
                    "Event " + replacement.eventId()
                            + " has no dedupKey, so it is not known which event it replaces. Name that one, or give it its key.");
        }
        return replace(EventRef.key(key), replacement);
    }

    /**
     * Cancels an event that nobody delivers yet and writes another one in its place, with an id and a place in the order of its aggregate of its own. Nothing is written unless the answer is
     * {@link Change#MADE}.
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

    /** A change of an event that was found, if it still is as it was found. */
    private interface Step {
        boolean on(ControlledEventStore store, Connection connection, Pending found);
    }

    private Change change(EventRef event, Step step) {
        Connection connection = writableConnection();
        ControlledEventStore store = controlled("The change of an event");
        flush();
        Change change = change(store, connection, event, step, false);
        if (change == Change.MADE) {
            checkBeforeCommit(connection);
        }
        return change;
    }

    /** Looks without a lock first: one on an event that is being delivered would hold up its outcome until the caller commits. */
    private Change change(
            ControlledEventStore store, Connection connection, EventRef event, Step step, boolean latest) {
        Optional<Pending> found = store.find(connection, event, latest);
        if (found.isEmpty()) {
            return Change.NOT_FOUND;
        }
        Pending pending = found.get();
        boolean free = pending.lockedBy() == null || written.isOurs(connection, pending);
        if (pending.status().isTerminal() || !free) { // a lease that ran out may still be in use
            return Change.TOO_LATE;
        }
        if (step.on(store, connection, pending)) {
            written.changed(connection, pending.eventId());
            return Change.MADE;
        }
        return latest ? Change.TOO_LATE : change(store, connection, event, step, true);
    }

    private ControlledEventStore controlled(String what) {
        if (eventStore instanceof ControlledEventStore store) {
            return store;
        }
        throw new IllegalArgumentException(what + " needs a store with delivery control, but "
                + eventStore.getClass().getName() + " does not implement " + ControlledEventStore.class.getName());
    }

    private void flush() {
        if (gathered != null) {
            gathered.flush();
        }
    }

    /** Counts what is relative to the write from now on, by the database's clock. */
    private List<EventEnvelope> timed(Connection connection, List<EventEnvelope> events) {
        for (EventEnvelope event : events) {
            if (event.isControlled()) {
                controlled("Event " + event.eventId());
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
        if (eventStore instanceof LeasingEventStore leasing) {
            leasing.checkCommit(connection);
        }
    }

    private void checkBeforeCommit(Connection connection) {
        if (eventStore instanceof LeasingEventStore leasing) {
            txContext.beforeCommit(() -> leasing.checkCommit(connection));
        }
    }

    /**
     * Inserts events, and arranges for the hook to hear of them after the commit. If nobody can tell when this
     * transaction commits, the events are not leased and the hook hears nothing: a poller delivers them.
     *
     * @return for each event that was left out, who has its key
     */
    private Map<String, String> insert(Connection connection, List<EventEnvelope> events, boolean keyed) {
        boolean told = txContext.visibility() != Visibility.NONE;
        if (!(eventStore instanceof LeasingEventStore leasing)) {
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
            leftOut = controlled("A dedupKey").insertUnlessTaken(connection, events, birth);
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

    /** What the store has dropped is neither counted nor delivered. */
    private List<EventEnvelope> kept(Connection connection, List<EventEnvelope> events) {
        if (!(eventStore instanceof DroppingEventStore dropping)) {
            return events;
        }
        Set<String> dropped = dropping.dropped(connection, events);
        return dropped.isEmpty()
                ? events
                : events.stream()
                        .filter(event -> !dropped.contains(event.eventId()))
                        .toList();
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
     * Tells the hook about the events after the commit.
     *
     * @param lasting no rollback to a savepoint can undo the insert unseen; otherwise the table is asked before the
     *     commit which events are still there
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
        if (!lasting && eventStore instanceof LeasingEventStore leasing) {
            tx.doubt(events);
            txContext.beforeCommit(() -> tx.look(leasing));
        }
        txContext.afterCommit(() -> {
            written.ended(tx);
            for (EventEnvelope event : events) {
                Instant due = event.availableAt();
                if (tx.isChanged(event) || tx.isGone(event, write)) {
                    continue; // or the change told about it
                }
                if (due != null) {
                    tellScheduled(hook, due);
                } else if (birth != null || !tx.isDoubtful(event)) { // a hook without claims cannot ask for the row
                    tell(hook, event, tx.claimOf(event, birth));
                }
            }
        });
    }

    /** The callbacks know no event, so that a transaction with very many need not keep them all in memory. */
    private void tellFreeAfterCommit(AfterCommitHook hook, List<EventEnvelope> events) {
        int free = 0;
        for (EventEnvelope event : events) {
            Instant due = event.availableAt();
            if (due == null) {
                free++;
            } else {
                txContext.afterCommit(() -> tellScheduled(hook, due)); // even if it was cancelled: a poller may look
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
