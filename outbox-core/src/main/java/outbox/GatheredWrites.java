package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.TxContext;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Events that were written in a transaction and are not inserted yet: all of them are, in one go, just before it commits.
 *
 * <p>What is written after a savepoint is gathered by itself, since a rollback to that savepoint drops the callback that would insert it.
 */
final class GatheredWrites {

    /** The events of one scope of a transaction. Used by the thread of the transaction only. */
    private record Gathered(
            Object scope, List<EventEnvelope> events, Set<String> ids, Consumer<List<EventEnvelope>> insert) {}

    @SuppressWarnings("ThreadLocalUsage") // per writer: another one gathers for itself
    private final ThreadLocal<@Nullable Gathered> current = new ThreadLocal<>();

    private final TxContext txContext;

    GatheredWrites(TxContext txContext) {
        this.txContext = txContext;
    }

    /**
     * Keeps the events until the commit.
     *
     * @param insert called with all events of the scope before the commit
     * @return false if the context has no such moment or knows no scopes: then nothing was kept
     */
    boolean add(List<EventEnvelope> events, Consumer<List<EventEnvelope>> insert) {
        Object scope = txContext.scope();
        if (scope == null) {
            return false;
        }
        Gathered gathered = current.get();
        if (gathered == null || gathered.scope != scope) {
            gathered = open(scope, insert);
            if (gathered == null) {
                return false;
            }
        }
        for (EventEnvelope event : events) {
            if (gathered.ids.contains(event.eventId())) {
                throw new InvalidEventException(
                        "Event id " + event.eventId() + " was written before in this transaction");
            }
        }
        for (EventEnvelope event : events) {
            gathered.events.add(event);
            gathered.ids.add(event.eventId());
        }
        return true;
    }

    /** Inserts what was gathered in this scope now, because what follows must find it in the table. What was gathered before a savepoint stays, since the rollback to it must not take it back. */
    void flush() {
        Gathered gathered = current.get();
        if (gathered != null && gathered.scope == txContext.scope() && !gathered.events.isEmpty()) {
            gathered.insert.accept(List.copyOf(gathered.events));
            gathered.events.clear(); // not before: if the caller swallows a failure, the commit must fail by it again
        }
    }

    private @Nullable Gathered open(Object scope, Consumer<List<EventEnvelope>> insert) {
        Gathered fresh = new Gathered(scope, new ArrayList<>(), new HashSet<>(), insert);
        boolean willInsert = txContext.beforeCommit(() -> {
            current.remove();
            insert.accept(fresh.events);
        });
        if (!willInsert) {
            return null;
        }
        txContext.afterRollback(current::remove);
        current.set(fresh);
        return fresh;
    }
}
