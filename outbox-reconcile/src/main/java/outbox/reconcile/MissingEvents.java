package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter;
import outbox.admin.EventAdministration;
import outbox.admin.EventFilter;
import outbox.model.EventStatus;
import outbox.spi.EventControl;
import outbox.spi.EventControl.Pending;
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
 * Writes the events of a batch that do not exist yet, with an {@link OutboxWriter}, in a transaction of the
 * framework. An event exists if the store has its id: pending, delivered or dead. It also counts as existing if
 * another event holds its key, or if the last event with its key and type is dead: a person must decide about a dead
 * event. Used by one thread at a time.
 */
final class MissingEvents implements TxContext {

    private final @Nullable EventControl control; // null only if there is an administration
    private final @Nullable EventAdministration administration;
    private final OutboxWriter writer;
    private @Nullable Connection connection; // of the current transaction; null outside of write
    private TxCallbacks callbacks = new TxCallbacks();

    MissingEvents(EventStore store, MetricsExporter metrics) {
        this.control = store.capability(EventControl.class).orElse(null);
        this.administration = store.capability(EventAdministration.class).orElse(null);
        this.writer = new OutboxWriter(this, store).countedBy(metrics);
    }

    /**
     * Rejects a store that cannot check whether an event exists.
     *
     * @throws IllegalArgumentException if the store has neither of the two capabilities
     */
    static EventStore check(EventStore store) {
        if (store.capability(EventControl.class).isPresent()
                || store.capability(EventAdministration.class).isPresent()) {
            return store;
        }
        throw new IllegalArgumentException("eventStore " + store.getClass().getName()
                + " cannot tell whether an event exists: it implements neither " + EventControl.class.getName()
                + " nor " + EventAdministration.class.getName());
    }

    /**
     * Returns the ids of the events that do not exist. An event whose key another event holds is not missing: while
     * the other event is pending, the effect is only late.
     */
    Set<String> missing(Connection conn, List<EventEnvelope> events) {
        return events.stream()
                .filter(event -> isMissing(conn, event))
                .map(EventEnvelope::eventId)
                .collect(Collectors.toSet());
    }

    /** Returns the number of written events. The caller must call {@link #committed} after the commit. */
    int write(Connection conn, List<EventEnvelope> events) {
        List<EventEnvelope> missing =
                events.stream().filter(event -> isMissing(conn, event)).toList();
        connection = conn;
        callbacks = new TxCallbacks(); // a new object for each attempt of the transaction
        try {
            List<String> ids = writer.writeAll(missing);
            callbacks.committing();
            int written = 0;
            for (int i = 0; i < ids.size(); i++) {
                if (ids.get(i).equals(missing.get(i).eventId())) { // otherwise another event holds its key
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

    /** Returns the number of events that {@link #write} would write. */
    int count(Connection conn, List<EventEnvelope> events) {
        return (int) events.stream().filter(event -> isMissing(conn, event)).count();
    }

    private boolean isMissing(Connection conn, EventEnvelope event) {
        return !exists(conn, event) && !isKeyTaken(conn, event) && !hasDied(conn, event);
    }

    private boolean exists(Connection conn, EventEnvelope event) {
        return control != null
                ? control.find(conn, EventRef.id(event.eventId()), false).isPresent()
                : Objects.requireNonNull(administration)
                        .find(conn, event.eventId())
                        .isPresent();
    }

    private boolean isKeyTaken(Connection conn, EventEnvelope event) {
        String key = event.dedupKey();
        return key != null
                && control != null
                && control.find(conn, EventRef.key(key), false).isPresent();
    }

    /**
     * Returns whether the last event with this key is dead and has the same type. Returns false if the store does
     * not support both keys and queries.
     */
    private boolean hasDied(Connection conn, EventEnvelope event) {
        String key = event.dedupKey();
        if (key == null || control == null || administration == null) {
            return false;
        }
        Optional<Pending> last = control.findLast(conn, key);
        return last.isPresent()
                && last.get().status() == EventStatus.DEAD
                && administration.count(conn, dead(last.get().eventId(), event.eventType())) > 0;
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
