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
 * The rows of a store, in the order of their numbers, and the transactions that change them.
 *
 * <p>One lock guards all of it, and is never held while user code runs. A row that a transaction has changed is that transaction's until it ends: others see it as it was, pass over it where they
 * can, and otherwise wait for a while. An open transaction that nobody ends, because its context does not tell, is taken back after {@link #LONGEST_TX}.
 *
 * <p>The room is bounded by number and bytes, and so is what waits for its commit. Finished events only fill it as long as nobody else wants it: delivered ones go first, dead ones, whose loss is told, if
 * that is not enough, and dead ones that block their aggregate never.
 */
final class MemoryTable {

    static final Duration LONGEST_TX = Duration.ofHours(1);

    private static final Duration LOCK_WAIT = Duration.ofSeconds(10);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition(); // of a transaction
    private final LinkedHashMap<String, Row> rows = new LinkedHashMap<>();
    private final Map<String, Set<Row>> byKey = new HashMap<>();
    private final Set<MemoryTx> open = new LinkedHashSet<>(); // the oldest first
    private final List<Runnable> untold = new ArrayList<>(); // losses that are told once the lock is free
    private final MemoryLosses losses;
    private final int maxEvents;
    private final long maxBytes;
    private final Duration longestTx;
    private long bytes;
    private long lastNumber;
    private Ordering ordering = Ordering.off(); // the last by which events were claimed in order
    private long waits; // how often the lock was given up by who waited for another transaction

    MemoryTable(int maxEvents, long maxBytes, Duration longestTx, MemoryLosses losses) {
        this.losses = losses;
        this.maxEvents = maxEvents;
        this.maxBytes = maxBytes;
        this.longestTx = longestTx;
    }

    /** Runs the work alone. */
    <T> T alone(Supplier<T> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            unlock();
        }
    }

    /** Tells, without the lock, what was lost under it. */
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

    /** How much the transaction has done: another thread may be taking it back. */
    int sizeOf(MemoryTx tx) {
        return alone(tx::size);
    }

    // ---- with the lock ----

    Collection<Row> rows() {
        return rows.values();
    }

    @Nullable
    Row row(String eventId) {
        return rows.get(eventId);
    }

    /** Changes whenever somebody waited: what was seen before may not hold any more. */
    long waits() {
        return waits;
    }

    int size() {
        return rows.size();
    }

    long bytes() {
        return bytes;
    }

    /** By what order events are claimed: a dead one that others wait for has to stay. */
    void claimedIn(Ordering order) {
        if (order.isOn()) {
            ordering = order;
        }
    }

    /**
     * Brings the table back into its bounds by giving up finished events, the oldest first: delivered ones, and some more than needed, lest every write has to; then as many dead ones as it takes. If
     * that is not enough it gives up nothing, and answers false.
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

    /** What may be given up, and in which order. */
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

    /** The event found no room, which counts if its transaction commits. */
    void dropEvent(MemoryTx tx, EventEnvelope event) {
        requireOpen(tx);
        tx.addDropped(event);
        open.add(tx);
    }

    /** The row for a new event of this id, after whoever is busy with one is done; null if there is an event. */
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
        return row.seenBy(tx) == null ? row : null; // this transaction has deleted it
    }

    void insert(MemoryTx tx, Row row, RowState state) {
        requireOpen(tx); // before anything is in the maps
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

    /** The row of the event that has the key, for this transaction; waits for those who are about to have it, or to lose it. */
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

    /** The same as far as it can be told without waiting. */
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

    /** The event that took the key last, as this transaction sees it. */
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

    /** Changes a row that no other transaction has changed; null deletes it. */
    void change(MemoryTx tx, Row row, @Nullable RowState state) {
        requireOpen(tx);
        tx.add(row, row.seenBy(tx));
        row.changedBy = tx;
        row.current = state;
        open.add(tx);
    }

    /** A transaction that was taken back cannot go on, let alone commit. */
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
                    interrupted = true; // the wait is short, and a write that gives up would look like a failure
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

    // ---- the end of a transaction ----

    /** Answers false if the transaction was taken back before. */
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

    /** Takes back all but the first changes. */
    void undoTo(MemoryTx tx, int size) {
        lock.lock();
        try {
            undo(tx, size);
            if (tx.size() == 0) {
                open.remove(tx); // as if it had not begun
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

    /** Takes back transactions that nobody ends. */
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
