package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.OutboxException;
import outbox.internal.EventRules;
import outbox.internal.SystemTime;
import outbox.spi.Claim;

import java.sql.Connection;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/** Inserts events, and makes or refuses room for them. Thread-safe. */
final class MemoryInserts {

    private final MemoryTable table;
    private final MemoryWork work;
    private final WhenFull whenFull;
    private final String bounds;

    MemoryInserts(MemoryTable table, MemoryWork work, WhenFull whenFull, String bounds) {
        this.table = table;
        this.work = work;
        this.whenFull = whenFull;
        this.bounds = bounds;
    }

    /**
     * Inserts events.
     *
     * @param refuseTaken whether to throw if a key is taken; otherwise such an event is left out
     * @return for each event that was left out, its id and the id of the event that has the key
     */
    Map<String, String> insert(
            Connection conn, List<EventEnvelope> events, @Nullable Claim birth, boolean refuseTaken) {
        for (EventEnvelope event : events) {
            if (event.deliverAfter() != null || event.expireAfter() != null) {
                throw new InvalidEventException(
                        "Event " + event.eventId() + " has a time relative to its write. Write it by an OutboxWriter.");
            }
        }
        return events.isEmpty() ? Map.of() : work.in(conn, tx -> insert(tx, events, birth, refuseTaken));
    }

    /**
     * Inserts the events first and makes room afterwards. Only then is it known how much room they need, and other
     * events are removed only if that is enough.
     */
    private Map<String, String> insert(
            MemoryTx tx, List<EventEnvelope> events, @Nullable Claim birth, boolean refuseTaken) {
        table.endAbandoned();
        Map<String, String> leftOut = new HashMap<>();
        for (EventEnvelope event : events) {
            int before = tx.size();
            String holder = insert(tx, event, birth);
            if (holder != null && refuseTaken) {
                throw new DuplicateKeyException(Objects.requireNonNull(event.dedupKey()), holder);
            }
            if (holder != null) {
                leftOut.put(event.eventId(), holder);
            } else if (whenFull == WhenFull.DROP && !table.makeRoom(SystemTime.now())) {
                table.undoTo(tx, before);
                table.dropEvent(tx, event);
            }
        }
        if (whenFull == WhenFull.REFUSE && !table.makeRoom(SystemTime.now())) {
            throw new MemoryFullException("There is no room in memory for " + show(events)
                    + ": the store is bounded by " + bounds + ". Roll back, or deliver faster.");
        }
        return leftOut;
    }

    private static String show(List<EventEnvelope> events) {
        EventEnvelope first = events.get(0);
        return events.size() > 1
                ? "the " + events.size() + " events of a write"
                : "event " + first.eventId() + " (type " + EventRules.show(first.eventType()) + ")";
    }

    /** Returns the id of the event that holds the key, or null if the event was inserted. */
    private @Nullable String insert(MemoryTx tx, EventEnvelope event, @Nullable Claim birth) {
        Instant now = SystemTime.now();
        String key = event.dedupKey();
        Row place;
        Row holder;
        long waits;
        do {
            waits = table.waits();
            holder = key == null ? null : table.holderOf(tx, key, now);
            place = table.place(tx, event.eventId());
        } while (waits != table.waits());
        if (place == null) {
            throw new OutboxException("There is an event " + event.eventId() + " already", null);
        }
        if (holder != null) {
            return holder.eventId();
        }
        RowState state = RowState.written(event, place.number(), now);
        if (birth != null && event.availableAt() == null) {
            state = state.lockedBy(birth.token(), now);
        }
        table.insert(tx, place, state);
        return null;
    }

    /** Returns the ids of those events that this transaction wrote and that found no room. */
    Set<String> dropped(Connection conn, List<EventEnvelope> events) {
        if (whenFull == WhenFull.REFUSE) {
            return Set.of();
        }
        return work.in(
                conn,
                tx -> events.stream()
                        .filter(tx::hasDropped)
                        .map(EventEnvelope::eventId)
                        .collect(Collectors.toSet()));
    }
}
