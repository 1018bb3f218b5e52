package outbox.testing.contract;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.Position;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

import static org.assertj.core.api.Assertions.assertThat;

/** The table and the store of a contract for events in order. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class OrderedStoreContract {

    static final Duration LEASE = Duration.ofMinutes(5);
    static final Ordering ALL = Ordering.perAggregate();

    StoreFixture db;
    LeasingEventStore store;
    EventOrder order; // of the same store
    int claims;

    /** Returns a new, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
        order = store.capability(EventOrder.class).orElseThrow();
    }

    static EventEnvelope event(String aggregateId) {
        return event("T", aggregateId);
    }

    static EventEnvelope event(String type, String aggregateId) {
        return EventEnvelope.builder(type)
                .aggregateType("Order")
                .aggregateId(aggregateId)
                .payloadJson("{}")
                .build();
    }

    EventEnvelope given(String aggregateId, EventStatus status) {
        return given(aggregateId, status, "boom");
    }

    EventEnvelope given(String aggregateId, EventStatus status, String error) {
        EventEnvelope event = event(aggregateId);
        db.insert(event);
        become(event, status, error);
        return event;
    }

    void become(EventEnvelope event, EventStatus status, String error) {
        if (status == EventStatus.NEW) {
            return;
        }
        Claim claim = claim();
        Instant now = db.now();
        Optional<ClaimedEvent> held =
                db.call(connection -> store.claimOne(connection, claim, event.eventId(), now, now.minus(LEASE), null));
        assertThat(held).isPresent();
        mark(
                switch (status) {
                    case DONE -> Mark.done(event.eventId(), claim.token());
                    case DEAD -> Mark.dead(event.eventId(), claim.token(), true, error);
                    default -> Mark.retry(event.eventId(), claim.token(), true, Duration.ZERO, error);
                });
    }

    void mark(Mark mark) {
        Instant now = db.now();
        Set<String> written = db.call(connection -> store.mark(connection, List.of(mark), now));
        assertThat(written).hasSize(1);
    }

    int skip(List<String> eventIds) {
        return db.call(connection -> order.skip(connection, eventIds));
    }

    Claim claim() {
        return new Claim("claim/" + ++claims, Long.MAX_VALUE);
    }

    List<EventEnvelope> claimed(Ordering ordering, int limit) {
        return claimedUnder(claim(), ordering, limit);
    }

    List<EventEnvelope> claimedUnder(Claim claim, Ordering ordering, int limit) {
        Instant now = db.now();
        return db
                .call(connection -> store.claim(
                        connection,
                        claim,
                        ClaimRequest.of(now, now.minus(LEASE), limit).inOrder(ordering)))
                .stream()
                .map(ClaimedEvent::event)
                .map(EventEnvelope::restore)
                .toList();
    }

    Map<String, Position> positions(Ordering ordering, List<EventEnvelope> events) {
        List<String> ids = events.stream().map(EventEnvelope::eventId).toList();
        return db.call(connection -> order.positions(connection, ids, ordering));
    }

    static Position at(Map<String, Position> positions, EventEnvelope event) {
        return Objects.requireNonNull(positions.get(event.eventId()), event.eventId());
    }
}
