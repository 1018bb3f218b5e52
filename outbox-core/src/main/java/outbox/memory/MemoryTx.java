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

/** What one transaction has done, so that it can be taken back, as a whole or from a savepoint on. Guarded by the lock of its {@link MemoryTable}. */
final class MemoryTx {

    /**
     * How a row was before a change; or how to take back a change of something else.
     *
     * @param row null if it was something else
     */
    record Undo(@Nullable Row row, @Nullable RowState before, Runnable otherwise) {}

    private final List<Undo> log = new ArrayList<>();
    private final Map<String, EventEnvelope> dropped = new LinkedHashMap<>(); // that found no room, by id
    private long startNanos; // of the first change: before, there is nothing to give up
    private volatile boolean ended; // the only field that is read without the lock

    void add(Row row, @Nullable RowState before) {
        add(new Undo(row, before, () -> {}));
    }

    /** Something that is no row was changed. */
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
