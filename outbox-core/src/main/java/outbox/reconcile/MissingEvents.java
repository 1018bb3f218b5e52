package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter;
import outbox.admin.EventFilter;
import outbox.model.EventStatus;
import outbox.spi.AdminEventStore;
import outbox.spi.ControlledEventStore;
import outbox.spi.ControlledEventStore.Pending;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.TxCallbacks;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Writes those events of a batch that are not there yet, by a writer like any other, in a transaction of the framework. What exists is known by the id, be it pending, delivered or dead; and by
 * the key, while another event has it or has died with it: a dead event is for a person, whoever wrote it. Used by one thread at a time.
 */
final class MissingEvents implements TxContext {

    private final EventStore store;
    private final OutboxWriter writer;
    private @Nullable Connection connection; // of the transaction under way
    private TxCallbacks callbacks = new TxCallbacks();

    MissingEvents(EventStore store, MetricsExporter metrics) {
        this.store = store;
        this.writer = new OutboxWriter(this, store).countedBy(metrics);
    }

    /**
     * Refuses a store that cannot tell whether an event exists.
     *
     * @throws IllegalArgumentException if it is neither of both
     */
    static EventStore check(EventStore store) {
        if (store instanceof ControlledEventStore || store instanceof AdminEventStore) {
            return store;
        }
        throw new IllegalArgumentException("eventStore " + store.getClass().getName()
                + " cannot tell whether an event exists: it implements neither " + ControlledEventStore.class.getName()
                + " nor " + AdminEventStore.class.getName());
    }

    /** The ids of those that do not exist, nor another event with their key: while that one waits, the effect is not missing, only late. */
    Set<String> missing(Connection conn, List<EventEnvelope> events) {
        return events.stream()
                .filter(event -> isMissing(conn, event))
                .map(EventEnvelope::eventId)
                .collect(Collectors.toSet());
    }

    /** Answers how many were written. {@link #committed} is to be called when that is sure. */
    int write(Connection conn, List<EventEnvelope> events) {
        List<EventEnvelope> missing =
                events.stream().filter(event -> isMissing(conn, event)).toList();
        connection = conn;
        callbacks = new TxCallbacks(); // also if the transaction is tried again
        try {
            List<String> ids = writer.writeAll(missing);
            callbacks.committing();
            int written = 0;
            for (int i = 0; i < ids.size(); i++) {
                if (ids.get(i).equals(missing.get(i).eventId())) { // else another event has its key
                    written++;
                }
            }
            return written;
        } finally {
            connection = null;
        }
    }

    void committed() {
        callbacks.committed();
        callbacks = new TxCallbacks();
    }

    /** Answers how many would be written. */
    int count(Connection conn, List<EventEnvelope> events) {
        return (int) events.stream().filter(event -> isMissing(conn, event)).count();
    }

    private boolean isMissing(Connection conn, EventEnvelope event) {
        return !exists(conn, event) && !isKeyTaken(conn, event) && !hasDied(conn, event);
    }

    private boolean exists(Connection conn, EventEnvelope event) {
        return store instanceof ControlledEventStore controlled
                ? controlled.find(conn, EventRef.id(event.eventId()), false).isPresent()
                : ((AdminEventStore) store).find(conn, event.eventId()).isPresent();
    }

    private boolean isKeyTaken(Connection conn, EventEnvelope event) {
        String key = event.dedupKey();
        return key != null
                && store instanceof ControlledEventStore controlled
                && controlled.find(conn, EventRef.key(key), false).isPresent();
    }

    /**
     * Whether the event that took the key last is dead and of this type. Only a store with keys that can also search
     * tells.
     */
    private boolean hasDied(Connection conn, EventEnvelope event) {
        String key = event.dedupKey();
        if (key == null
                || !(store instanceof ControlledEventStore controlled)
                || !(store instanceof AdminEventStore admin)) {
            return false;
        }
        Optional<Pending> last = controlled.findLast(conn, key);
        return last.isPresent()
                && last.get().status() == EventStatus.DEAD
                && admin.count(conn, dead(last.get().eventId(), event.eventType())) > 0;
    }

    private static EventFilter dead(String eventId, String eventType) {
        return EventFilter.builder()
                .status(EventStatus.DEAD)
                .eventId(eventId)
                .eventType(eventType)
                .build();
    }

    @Override
    public boolean isTransactionActive() {
        return connection != null;
    }

    @Override
    public Connection currentConnection() {
        return Objects.requireNonNull(connection);
    }

    @Override
    public void afterCommit(Runnable callback) {
        callbacks.afterCommit(callback);
    }

    @Override
    public void afterRollback(Runnable callback) {
        callbacks.afterRollback(callback);
    }

    @Override
    public boolean beforeCommit(Runnable callback) {
        return callbacks.beforeCommit(callback);
    }

    @Override
    public Object scope() {
        return callbacks.scope();
    }
}
