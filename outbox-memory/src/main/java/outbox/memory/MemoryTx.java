package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The changes of one transaction, kept so that they can be undone, entirely or back to a savepoint. Guarded by the
 * lock of its {@link MemoryTable}.
 */
final class MemoryTx {

    /**
     * The state of a row before a change, or an action that undoes another kind of change.
     *
     * @param row null for another kind of change
     */
    record Undo(@Nullable Row row, @Nullable RowState before, Runnable otherwise) {}

    private final List<Undo> log = new ArrayList<>();
    private final Map<String, EventEnvelope> dropped = new LinkedHashMap<>(); // events without room, by id
    private long startNanos; // time of the first change; before it, there is nothing to undo
    private volatile boolean ended; // written under the lock of the table; the only field that is read without it

    void add(Row row, @Nullable RowState before) {
        add(new Undo(row, before, () -> {}));
    }

    /** Adds a change that does not concern a row. */
    void add(Runnable undo) {
        add(new Undo(null, null, undo));
    }

    void addDropped(EventEnvelope event) {
        dropped.put(event.eventId(), event);
        add(() -> dropped.remove(event.eventId()));
    }

    Collection<EventEnvelope> dropped() {
        return dropped.values();
    }

    boolean hasDropped(EventEnvelope event) {
        return dropped.containsKey(event.eventId());
    }

    private void add(Undo undo) {
        if (log.isEmpty()) {
            startNanos = System.nanoTime();
        }
        log.add(undo);
    }

    int size() {
        return log.size();
    }

    Undo removeLast() {
        return log.remove(log.size() - 1);
    }

    Set<Row> rows() {
        return log.stream().map(Undo::row).filter(Objects::nonNull).collect(Collectors.toSet());
    }

    long ageNanos() {
        return System.nanoTime() - startNanos;
    }

    boolean isEnded() {
        return ended;
    }

    void end() {
        ended = true;
        log.clear();
        dropped.clear();
    }
}
