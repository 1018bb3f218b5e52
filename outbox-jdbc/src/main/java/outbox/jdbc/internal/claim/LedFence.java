package outbox.jdbc.internal.claim;

import outbox.spi.Leadership;

import java.time.Instant;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Claims in memory, for a table without columns for claims. Only the leader works on such a table. A node that does
 * not lead claims and marks nothing.
 *
 * <p>After the outcome of an event was written, the event may be claimed again, but its entry stays for a while: the
 * transaction may fail, and then the same claim writes the outcome again. Until that transaction ends, it holds a
 * lock on the row, and other claims skip locked rows.
 */
public final class LedFence extends LayoutFence {

    private static final long KEEP_NANOS = TimeUnit.SECONDS.toNanos(10);

    private record Held(String token, Instant since, boolean over, long overNanos) {}

    private final Leadership leadership;
    private final Map<String, Held> held = new ConcurrentHashMap<>();
    private volatile long sweptNanos = System.nanoTime(); // written by claiming threads; a lost update does no harm

    public LedFence(Leadership leadership) {
        this.leadership = leadership;
    }

    @Override
    public int reach(int limit) {
        return (int) Math.min(Integer.MAX_VALUE, (long) limit + held.size());
    }

    @Override
    public Piece free(Instant lockExpiry) {
        sweep();
        return leadership.isLeader() ? Piece.NONE : new Piece(" AND 1 = 0", binder -> {});
    }

    private void sweep() {
        long now = System.nanoTime();
        if (now - sweptNanos < KEEP_NANOS) {
            return;
        }
        sweptNanos = now;
        for (Iterator<Held> all = held.values().iterator(); all.hasNext(); ) {
            Held one = all.next();
            if (one.over && now - one.overNanos > KEEP_NANOS) {
                all.remove();
            }
        }
    }

    @Override
    public boolean isTaken(String eventId, Instant lockExpiry) {
        Held one = held.get(eventId);
        return one != null && !one.over && !one.since.isBefore(lockExpiry);
    }

    @Override
    public boolean wasHeld(String eventId) {
        Held one = held.get(eventId);
        return one != null && !one.over;
    }

    @Override
    public String columns() {
        return "";
    }

    @Override
    public Piece take(String token, Instant now) {
        return Piece.NONE;
    }

    @Override
    public void remember(String token, Collection<String> eventIds, Instant now) {
        eventIds.forEach(eventId -> held.put(eventId, new Held(token, now, false, 0)));
    }

    @Override
    public Collection<String> mine(String token, Collection<String> eventIds) {
        if (!leadership.isLeader()) {
            return List.of();
        }
        return eventIds.stream().filter(eventId -> isHeldBy(token, eventId)).toList();
    }

    private boolean isHeldBy(String token, String eventId) {
        Held one = held.get(eventId);
        return one != null && one.token.equals(token);
    }

    @Override
    public Piece held(String token) {
        return Piece.NONE;
    }

    @Override
    public String letGo() {
        return "";
    }

    @Override
    public Piece leaseOver() {
        return Piece.NONE;
    }

    @Override
    public void forget(String token, Collection<String> eventIds) {
        eventIds.stream().filter(eventId -> isHeldBy(token, eventId)).forEach(this::end);
    }

    @Override
    public void forgetAll(Collection<String> eventIds) {
        eventIds.forEach(this::end);
    }

    private void end(String eventId) {
        long now = System.nanoTime();
        held.computeIfPresent(eventId, (id, one) -> new Held(one.token, one.since, true, now));
    }
}
