package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.model.OutboxEvent;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * A store that forwards every call to another store. A subclass overrides what should be different, such as a method
 * that fails once. It has the capabilities that it implements itself, and those of the other store.
 */
@Experimental
public abstract class ForwardingEventStore implements LeasingEventStore {

    private final EventStore store;
    private final LeasingEventStore target; // the part of the store with this capability

    /** @throws IllegalArgumentException if the store does not support claims */
    protected ForwardingEventStore(EventStore store) {
        this.store = Objects.requireNonNull(store, "store");
        this.target = store.capability(LeasingEventStore.class)
                .orElseThrow(() -> new IllegalArgumentException("The store to forward to needs claims, but "
                        + store.getClass().getName() + " does not implement " + LeasingEventStore.class.getName()));
    }

    @Override
    public <T> Optional<T> capability(Class<T> type) {
        return LeasingEventStore.super.capability(type).or(() -> store.capability(type));
    }

    @Override
    public void insertNew(Connection conn, EventEnvelope event) {
        target.insertNew(conn, event);
    }

    @Override
    public int markDone(Connection conn, String eventId) {
        return target.markDone(conn, eventId);
    }

    @Override
    public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        return target.markRetry(conn, eventId, nextAt, error);
    }

    @Override
    public int markDead(Connection conn, String eventId, String error) {
        return target.markDead(conn, eventId, error);
    }

    @Override
    public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        return target.pollPending(conn, now, skipRecent, limit);
    }

    @Override
    public List<OutboxEvent> claimPending(
            Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return target.claimPending(conn, ownerId, now, lockExpiry, skipRecent, limit);
    }

    @Override
    public Instant now(Connection conn) {
        return target.now(conn);
    }

    @Override
    public boolean isClockSettable() {
        return target.isClockSettable();
    }

    @Override
    public @Nullable String tableName() {
        return target.tableName();
    }

    @Override
    public void prepare(Connection conn) throws SQLException {
        target.prepare(conn);
    }

    @Override
    public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        return target.insertAll(conn, events, birth);
    }

    @Override
    public Set<String> dropped(Connection conn, List<EventEnvelope> events) {
        return target.dropped(conn, events);
    }

    @Override
    public Set<String> existing(Connection conn, Collection<String> eventIds) {
        return target.existing(conn, eventIds);
    }

    @Override
    public void checkCommit(Connection conn) {
        target.checkCommit(conn);
    }

    @Override
    public List<ClaimedEvent> claim(Connection conn, Claim claim, ClaimRequest request) {
        return target.claim(conn, claim, request);
    }

    @Override
    public boolean canWithhold() {
        return target.canWithhold();
    }

    @Override
    public Map<String, Long> sizes(Connection conn, Collection<String> eventIds) {
        return target.sizes(conn, eventIds);
    }

    @Override
    public List<OutboxEvent> load(Connection conn, Collection<String> eventIds) {
        return target.load(conn, eventIds);
    }

    @Override
    public Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held) {
        return target.claimOne(conn, claim, eventId, now, lockExpiry, held);
    }

    @Override
    public Set<String> lockFree(Connection conn, Collection<String> eventIds) {
        return target.lockFree(conn, eventIds);
    }

    @Override
    public boolean setAttempts(Connection conn, String token, String eventId, int attempts) {
        return target.setAttempts(conn, token, eventId, attempts);
    }

    @Override
    public Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return target.renew(conn, token, eventIds, now);
    }

    @Override
    public boolean lockDue(Connection conn, ClaimRequest request) {
        return target.lockDue(conn, request);
    }

    @Override
    public int release(Connection conn, String token, Collection<String> eventIds) {
        return target.release(conn, token, eventIds);
    }

    @Override
    public int releaseSuspects(Connection conn, String token, Collection<String> eventIds) {
        return target.releaseSuspects(conn, token, eventIds);
    }

    @Override
    public Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return target.mark(conn, marks, now);
    }

    @Override
    public Set<String> remove(Connection conn, List<Mark> done) {
        return target.remove(conn, done);
    }

    @Override
    public List<String> endUntaken(Connection conn, ClaimRequest overdue, Instant now, String reason) {
        return target.endUntaken(conn, overdue, now, reason);
    }

    @Override
    public List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return target.endUnreachable(conn, now, lockExpiry, reason, limit);
    }
}
