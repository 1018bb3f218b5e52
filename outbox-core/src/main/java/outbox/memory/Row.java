package outbox.memory;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.stream.Stream;

/** The place of an event: as it is for everybody, and as the one open transaction that has changed it sees it. Guarded by the lock of its {@link MemoryTable}. */
final class Row {

    private final String eventId;
    private final long number;

    @Nullable
    RowState committed; // null: nobody but its transaction knows of it

    @Nullable
    RowState current; // as its transaction sees it; null: deleted

    @Nullable
    MemoryTx changedBy;

    long bytes; // of the largest event that was ever here
    List<String> keys = List.of(); // under which it can be found; usually one at most

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

    /** Null if the event is not there for this transaction. */
    @Nullable
    RowState seenBy(MemoryTx tx) {
        return changedBy == tx ? current : committed;
    }

    boolean isLockedFor(MemoryTx tx) {
        return changedBy != null && changedBy != tx;
    }
}
