package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventControl;
import outbox.spi.EventStore;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.Connection;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The store of a test outbox, around a real store. It adds the offset of the test clock to the database time, records
 * claims and outcomes, and allows each event one attempt per delivery. The engine reads every time from
 * {@link LeasingEventStore#now} and passes it to the store, so due times, retries and deadlines follow the test
 * clock, and no row needs a change.
 */
final class WatchedStore extends ForwardingEventStore {

    private final EventStore target;
    private final TestClock clock;
    private final DeliveryWatch watch = new DeliveryWatch();

    /** @throws IllegalArgumentException if the store does not support claims, or is watched already */
    WatchedStore(EventStore target, TestClock clock) {
        super(target);
        if (target instanceof WatchedStore) {
            throw new IllegalArgumentException("The store is watched already");
        }
        this.target = target;
        this.clock = clock;
    }

    TestClock clock() {
        return clock;
    }

    DeliveryWatch watch() {
        return watch;
    }

    @Override
    public <T> Optional<T> capability(Class<T> type) {
        return type == EventControl.class
                ? target.capability(EventControl.class).map(control -> type.cast(new Control(control)))
                : super.capability(type);
    }

    @Override
    public boolean isClockSettable() {
        return true;
    }

    @Override
    public Instant now(Connection conn) {
        return super.now(conn).plus(clock.ahead());
    }

    /**
     * Releases events that were already attempted in this delivery, in the same transaction, and returns the others.
     */
    @Override
    public List<ClaimedEvent> claim(Connection conn, Claim claim, ClaimRequest request) {
        List<ClaimedEvent> fresh = new ArrayList<>();
        List<ClaimedEvent> again = new ArrayList<>();
        for (ClaimedEvent found : super.claim(conn, claim, request)) {
            (watch.isAttempted(found.event().eventId()) ? again : fresh).add(found);
        }
        if (!again.isEmpty()) {
            release(conn, claim.token(), ids(again));
        }
        watch.claimed(ids(fresh));
        return fresh;
    }

    private static List<String> ids(List<ClaimedEvent> events) {
        return events.stream().map(event -> event.event().eventId()).toList();
    }

    @Override
    public Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        Set<String> written = super.mark(conn, marks, now);
        for (Mark mark : marks) {
            if (written.contains(mark.eventId())) {
                watch.ended(mark.eventId(), mark.status());
            }
        }
        return written;
    }

    @Override
    public Set<String> remove(Connection conn, List<Mark> done) {
        Set<String> removed = super.remove(conn, done);
        removed.forEach(watch::removed);
        return removed;
    }

    @Override
    public List<String> endUntaken(Connection conn, ClaimRequest overdue, Instant now, String reason) {
        return dead(super.endUntaken(conn, overdue, now, reason));
    }

    @Override
    public List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return dead(super.endUnreachable(conn, now, lockExpiry, reason, limit));
    }

    private List<String> dead(List<String> eventIds) {
        eventIds.forEach(eventId -> watch.ended(eventId, EventStatus.DEAD));
        return eventIds;
    }

    @Override
    public String toString() {
        return "watched " + target;
    }

    /** Records the events that expire; otherwise the same as the control of the real store. */
    private final class Control implements EventControl {

        private final EventControl control;

        Control(EventControl control) {
            this.control = control;
        }

        @Override
        public List<String> expire(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
            return dead(control.expire(conn, now, lockExpiry, reason, limit));
        }

        @Override
        public Map<String, String> insertUnlessTaken(
                Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
            return control.insertUnlessTaken(conn, events, birth);
        }

        @Override
        public Optional<Pending> find(Connection conn, EventRef event, boolean latest) {
            return control.find(conn, event, latest);
        }

        @Override
        public Optional<Pending> findLast(Connection conn, String dedupKey) {
            return control.findLast(conn, dedupKey);
        }

        @Override
        public Optional<String> purgeKeys(Connection conn, Instant doneBefore, String after, int limit) {
            return control.purgeKeys(conn, doneBefore, after, limit);
        }

        @Override
        public boolean cancel(Connection conn, Pending found) {
            return control.cancel(conn, found);
        }

        @Override
        public boolean reschedule(Connection conn, Pending found, Instant availableAt) {
            return control.reschedule(conn, found, availableAt);
        }

        @Override
        public Optional<Instant> nextDue(Connection conn, Instant now) {
            return control.nextDue(conn, now);
        }
    }
}
