package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.internal.EventRules;
import outbox.model.EventStatus;
import outbox.order.Ordering;

import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * The rows of a store in the order of their numbers, and the transactions that change them.
 *
 * <p>One lock guards all fields. It is never held while user code runs. A row that a transaction has changed is
 * locked by that transaction until it ends. Other transactions see the old state. They skip the row where possible
 * and otherwise wait for a limited time. A transaction whose context never reports its end is rolled back after
 * {@link #LONGEST_TX}.
 *
 * <p>The table is bounded by number of rows and by bytes, including uncommitted rows. Finished events stay until
 * their room is needed. Delivered events are removed first. If that is not enough, dead events are removed and the
 * loss is reported. Dead events that block their aggregate are never removed.
 */
final class MemoryTable {

    static final Duration LONGEST_TX = Duration.ofHours(1);

    private static final Duration LOCK_WAIT = Duration.ofSeconds(10);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition(); // signalled when a transaction ends
    private final LinkedHashMap<String, Row> rows = new LinkedHashMap<>();
    private final Map<String, Set<Row>> byKey = new HashMap<>();
    private final Set<MemoryTx> open = new LinkedHashSet<>(); // oldest first; guarded by lock
    // losses to report after the lock is released; guarded by lock
    private final List<Runnable> untold = new ArrayList<>();
    private final MemoryLosses losses;
    private final int maxEvents;
    private final long maxBytes;
    private final Duration longestTx;
    private long bytes;
    private long lastNumber;
    private Ordering ordering = Ordering.off(); // the ordering of the last ordered claim; guarded by lock
    private long waits; // how often a thread released the lock to wait for another transaction; guarded by lock

    MemoryTable(int maxEvents, long maxBytes, Duration longestTx, MemoryLosses losses) {
        this.losses = losses;
        this.maxEvents = maxEvents;
        this.maxBytes = maxBytes;
        this.longestTx = longestTx;
    }

    /** Runs the work under the lock. */
    <T> T alone(Supplier<T> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            unlock();
        }
    }

    /** Releases the lock, and then reports the losses that were collected under it. */
    private void unlock() {
        List<Runnable> told = List.of();
        try {
            if (lock.getHoldCount() == 1 && !untold.isEmpty()) {
                told = List.copyOf(untold);
                untold.clear();
            }
        } finally {
            lock.unlock();
        }
        told.forEach(Runnable::run);
    }

    /**
     * Returns the number of changes of the transaction. Takes the lock, because another thread may be
     * rolling it back.
     */
    int sizeOf(MemoryTx tx) {
        return alone(tx::size);
    }

    // ---- callers must hold the lock ----

    Collection<Row> rows() {
        return rows.values();
    }

    @Nullable
    Row row(String eventId) {
        return rows.get(eventId);
    }

    /**
     * Returns a counter that changes whenever a thread waited. If it changed, values that were read before
     * may be outdated.
     */
    long waits() {
        return waits;
    }

    int size() {
        return rows.size();
    }

    long bytes() {
        return bytes;
    }

    /** Remembers the ordering of claims. It determines which dead events must stay because others wait for them. */
    void claimedIn(Ordering order) {
        if (order.isOn()) {
            ordering = order;
        }
    }

    /**
     * Removes finished events until the table is within its bounds, the oldest first. Removes delivered events
     * first, and more of them than necessary, so that not every write has to do this. Then removes only as many dead
     * events as necessary. If all of that is not enough, removes nothing and returns false.
     */
    boolean makeRoom(Instant now) {
        if (rows.size() <= maxEvents && bytes <= maxBytes) {
            return true;
        }
        int spare = 1 + maxEvents / 16;
        List<Row> given = new ArrayList<>();
        long freed = 0;
        for (Row row : finished(now)) {
            boolean isDead = isDead(row);
            if (isWithin(given, freed) && (isDead || given.size() >= spare)) {
                break;
            }
            given.add(row);
            freed += row.bytes;
        }
        if (!isWithin(given, freed)) {
            return false;
        }
        given.forEach(this::giveUp);
        return true;
    }

    /** Returns the events that may be removed, in the order of removal. */
    private List<Row> finished(Instant now) {
        List<Row> delivered = new ArrayList<>();
        List<Row> dead = new ArrayList<>();
        for (Row row : rows.values()) {
            RowState state = row.committed;
            if (row.changedBy != null || state == null || state.isPending() || state.hasKey(now)) {
                continue;
            }
            if (!isDead(row)) {
                delivered.add(row);
            } else if (!MemoryClaims.keepsOthersWaiting(state, ordering)) {
                dead.add(row);
            }
        }
        delivered.addAll(dead);
        return delivered;
    }

    private static boolean isDead(Row row) {
        return row.committed != null && row.committed.status() == EventStatus.DEAD;
    }

    private boolean isWithin(List<Row> given, long freed) {
        return rows.size() - given.size() <= maxEvents && bytes - freed <= maxBytes;
    }

    private void giveUp(Row row) {
        if (row.committed != null && isDead(row)) {
            EventEnvelope event = row.committed.event();
            untold.add(() -> losses.gaveUp(event));
        }
        drop(row);
    }

    /** Records that an event was dropped for lack of room. The loss is reported if the transaction commits. */
    void dropEvent(MemoryTx tx, EventEnvelope event) {
        requireOpen(tx);
        tx.addDropped(event);
        open.add(tx);
    }

    /**
     * Returns the row for a new event with this id, or null if the event exists. Waits for other transactions that
     * have changed the row.
     */
    @Nullable
    Row place(MemoryTx tx, String eventId) {
        Row row = rows.get(eventId);
        while (row != null && row.isLockedFor(tx)) {
            await(tx, row);
            row = rows.get(eventId);
        }
        if (row == null) {
            return new Row(eventId, ++lastNumber);
        }
        return row.seenBy(tx) == null ? row : null; // not null if this transaction has deleted the event
    }

    void insert(MemoryTx tx, Row row, RowState state) {
        requireOpen(tx); // before any map is changed
        rows.putIfAbsent(row.eventId(), row);
        long more = Math.max(0, state.bytes() - row.bytes);
        row.bytes += more;
        bytes += more;
        String key = state.event().dedupKey();
        if (key != null) {
            row.addKey(key);
            byKey.computeIfAbsent(key, any -> new LinkedHashSet<>()).add(row);
        }
        change(tx, row, state);
    }

    /**
     * Returns the row of the event that holds the key, as this transaction sees it. Waits for transactions that are
     * about to take or release the key.
     */
    @Nullable
    Row holderOf(MemoryTx tx, String key, Instant now) {
        for (boolean waited = true; waited; ) {
            waited = false;
            for (Row row : List.copyOf(byKey.getOrDefault(key, Set.of()))) {
                boolean matters = hasKey(row.committed, key, now) || hasKey(row.current, key, now);
                if (matters && row.isLockedFor(tx)) {
                    await(tx, row);
                    waited = true;
                } else if (hasKey(row.seenBy(tx), key, now)) {
                    return row;
                }
            }
        }
        return null;
    }

    /** Like {@link #holderOf}, but without waiting: returns the state that this transaction sees now. */
    @Nullable
    RowState seenHolder(MemoryTx tx, String key, Instant now) {
        for (Row row : byKey.getOrDefault(key, Set.of())) {
            RowState state = row.seenBy(tx);
            if (state != null && hasKey(state, key, now)) {
                return state;
            }
        }
        return null;
    }

    /** Returns the last event that took the key, as this transaction sees it. */
    @Nullable
    RowState lastWith(MemoryTx tx, String key) {
        RowState last = null;
        for (Row row : byKey.getOrDefault(key, Set.of())) {
            RowState state = row.seenBy(tx);
            if (state != null) {
                last = state;
            }
        }
        return last;
    }

    private static boolean hasKey(@Nullable RowState state, String key, Instant now) {
        return state != null && key.equals(state.event().dedupKey()) && state.hasKey(now);
    }

    /** Changes a row that no other transaction has changed. A null state deletes the row. */
    void change(MemoryTx tx, Row row, @Nullable RowState state) {
        requireOpen(tx);
        tx.add(row, row.seenBy(tx));
        row.changedBy = tx;
        row.current = state;
        open.add(tx);
    }

    /** Throws if the transaction was rolled back because of its age. It must neither continue nor commit. */
    void requireOpen(MemoryTx tx) {
        if (tx.isEnded()) {
            throw new OutboxException(
                    "The transaction has lasted longer than " + longestTx
                            + ", so its events in memory were dropped. Roll back.",
                    null);
        }
    }

    /** Waits until no other transaction has changed the row. */
    void await(MemoryTx tx, Row row) {
        long left = LOCK_WAIT.toNanos();
        boolean interrupted = false;
        try {
            while (row.isLockedFor(tx)) {
                endAbandoned();
                if (left <= 0) {
                    throw busy(row);
                }
                waits++;
                try {
                    left = ended.awaitNanos(left);
                } catch (InterruptedException e) {
                    // keep waiting: the wait is short, and an aborted write would look like a failure
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static OutboxException busy(Row row) {
        String message = "Another transaction has been busy with event " + EventRules.show(row.eventId()) + " for "
                + LOCK_WAIT + "; is it open on the same thread?";
        return new OutboxException(message, new SQLTransactionRollbackException(message, "40001"));
    }

    // ---- end of a transaction ----

    /** Returns false if the transaction was rolled back before. */
    boolean commit(MemoryTx tx) {
        lock.lock();
        try {
            if (tx.isEnded()) {
                return false;
            }
            for (Row row : tx.rows()) {
                row.committed = row.current;
                free(row);
            }
            for (EventEnvelope event : tx.dropped()) {
                untold.add(() -> losses.dropped(event));
            }
            end(tx);
            return true;
        } finally {
            unlock();
        }
    }

    void rollback(MemoryTx tx) {
        lock.lock();
        try {
            undo(tx, 0);
            end(tx);
        } finally {
            unlock();
        }
    }

    /** Undoes all changes after the first {@code size} ones. */
    void undoTo(MemoryTx tx, int size) {
        lock.lock();
        try {
            undo(tx, size);
            if (tx.size() == 0) {
                open.remove(tx); // same state as before its first change
            }
            ended.signalAll();
        } finally {
            unlock();
        }
    }

    private void undo(MemoryTx tx, int size) {
        Set<Row> undone = new HashSet<>();
        while (tx.size() > size) {
            MemoryTx.Undo undo = tx.removeLast();
            undo.otherwise().run();
            Row row = undo.row();
            if (row != null) {
                row.current = undo.before();
                undone.add(row);
            }
        }
        undone.removeAll(tx.rows());
        undone.forEach(this::free);
    }

    private void free(Row row) {
        row.changedBy = null;
        row.current = null;
        if (row.committed == null) {
            drop(row);
        }
    }

    private void end(MemoryTx tx) {
        tx.end();
        open.remove(tx);
        ended.signalAll();
    }

    /** Rolls back transactions that have been open for too long. */
    void endAbandoned() {
        for (Iterator<MemoryTx> oldest = open.iterator(); oldest.hasNext(); ) {
            MemoryTx tx = oldest.next();
            if (tx.ageNanos() < longestTx.toNanos()) {
                return;
            }
            oldest.remove();
            undo(tx, 0);
            tx.end();
            ended.signalAll();
            untold.add(() -> losses.abandoned(longestTx));
        }
    }

    private void drop(Row row) {
        if (rows.remove(row.eventId(), row)) {
            bytes -= row.bytes;
        }
        for (String key : row.keys) {
            byKey.computeIfPresent(key, (any, some) -> some.remove(row) && some.isEmpty() ? null : some);
        }
    }
}
