package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.TxContext;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Events that were written in a transaction but not inserted yet. They are all inserted together just before
 * the commit.
 *
 * <p>Events written after a savepoint are kept separately, because a rollback to that savepoint also removes the
 * callback that would insert them.
 */
final class GatheredWrites {

    /** The events of one scope of a transaction. Only the thread of the transaction uses them. */
    private record Gathered(
            Object scope, List<EventEnvelope> events, Set<String> ids, Consumer<List<EventEnvelope>> insert) {}

    @SuppressWarnings("ThreadLocalUsage") // per writer: each writer gathers its own events
    private final ThreadLocal<@Nullable Gathered> current = new ThreadLocal<>();

    private final TxContext txContext;

    GatheredWrites(TxContext txContext) {
        this.txContext = txContext;
    }

    /**
     * Keeps the events until the commit.
     *
     * @param insert called with all events of the scope before the commit
     * @return false if the context has no callback before the commit or no scopes; then no event was kept
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

    /**
     * Inserts the events of the current scope now, because the following operation must find them in the table.
     * Events gathered before a savepoint are not inserted, because a rollback to the savepoint would remove them.
     */
    void flush() {
        Gathered gathered = current.get();
        if (gathered != null && gathered.scope == txContext.scope() && !gathered.events.isEmpty()) {
            gathered.insert.accept(List.copyOf(gathered.events));
            gathered.events.clear(); // only after success: if the caller ignores a failure, the commit must fail too
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
