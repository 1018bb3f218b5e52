package outbox.memory;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.stream.Stream;

/**
 * A row of the table: the committed state, and the state for the open transaction that has changed the row. At most
 * one open transaction can have changed it. Guarded by the lock of its {@link MemoryTable}.
 */
final class Row {

    private final String eventId;
    private final long number;

    @Nullable
    RowState committed; // null if only the transaction that inserted the event sees it

    @Nullable
    RowState current; // state for the transaction in changedBy; null if it deleted the event

    @Nullable
    MemoryTx changedBy;

    long bytes; // size of the largest event that this row has held
    List<String> keys = List.of(); // keys in the index of the table; usually at most one

    Row(String eventId, long number) {
        this.eventId = eventId;
        this.number = number;
    }

    String eventId() {
        return eventId;
    }

    long number() {
        return number;
    }

    void addKey(String key) {
        keys = Stream.concat(keys.stream(), Stream.of(key)).distinct().toList();
    }

    /** Returns null if the transaction does not see the event. */
    @Nullable
    RowState seenBy(MemoryTx tx) {
        return changedBy == tx ? current : committed;
    }

    boolean isLockedFor(MemoryTx tx) {
        return changedBy != null && changedBy != tx;
    }
}
