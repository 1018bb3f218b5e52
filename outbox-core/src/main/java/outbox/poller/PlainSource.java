package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.StoreAccess;
import outbox.model.OutboxEvent;
import outbox.spi.EventStore;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Reads events with the methods of the specification: with a lock that has an owner, or without any lock. */
final class PlainSource implements EventSource {

    /** The lock that the specification defines. */
    record Lock(String ownerId, Duration timeout) {}

    private final StoreAccess access;
    private final EventStore store;
    private final Duration skipRecent;
    private final @Nullable Lock lock;

    PlainSource(StoreAccess access, EventStore store, Duration skipRecent, @Nullable Lock lock) {
        this.access = access;
        this.store = store;
        this.skipRecent = skipRecent;
        this.lock = lock;
    }

    @Override
    public Batch next(int limit, boolean suspects) {
        return access.inTransaction("read pending events", connection -> {
            Instant now = access.now(connection);
            List<OutboxEvent> rows = lock == null
                    ? store.pollPending(connection, now, skipRecent, limit)
                    : store.claimPending(connection, lock.ownerId(), now, now.minus(lock.timeout()), skipRecent, limit);
            List<Found> found =
                    rows.stream().map(row -> new Found(row, null, false)).toList();
            return new Batch(found, now, Found.untilDue(access, connection, found), null, List.of(), List.of());
        });
    }

    @Override
    public void leads(long sinceNanos) {
        // Events that the previous leader has locked are found when their lock expires.
    }

    @Override
    public boolean takes() {
        return false; // a store without locks only reads, so the next call may return the same events
    }

    @Override
    public void release(List<Found> events) {
        // The specification has no method to release a lock; the lock expires.
    }

    @Override
    public boolean markDead(Found event, String error) {
        String eventId = event.row().eventId();
        return access.inTransaction(
                "mark event " + eventId + " dead", connection -> store.markDead(connection, eventId, error) > 0);
    }
}
