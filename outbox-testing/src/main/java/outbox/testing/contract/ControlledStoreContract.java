package outbox.testing.contract;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.admin.EventAdministration;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventControl;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

/** The table and the store of a contract for events with keys, priorities, due times and deadlines. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ControlledStoreContract {

    static final Duration LEASE = Duration.ofMinutes(5);
    static final Duration HOUR = Duration.ofHours(1);

    StoreFixture db;
    LeasingEventStore store;
    EventControl control; // of the same store
    EventAdministration admin; // of the same store
    int claims;

    /** Returns a new, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
        control = store.capability(EventControl.class).orElseThrow();
        admin = EventAdministration.of(store);
    }

    static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").payloadJson("{}");
    }

    static EventEnvelope keyed(String key) {
        return event().dedupKey(key).build();
    }

    List<ClaimedEvent> claim(Instant now, int limit) {
        Claim claim = Claim.startingNow("claim-" + ++claims, LEASE);
        return db.call(connection -> store.claim(connection, claim, ClaimRequest.of(now, now.minus(LEASE), limit)));
    }

    List<String> claimIds(Instant now, int limit) {
        return claim(now, limit).stream().map(event -> event.event().eventId()).toList();
    }

    Map<String, String> write(EventEnvelope... events) {
        return db.call(connection -> control.insertUnlessTaken(connection, List.of(events), null));
    }

    void finish(EventEnvelope event, EventStatus status, Instant at) {
        Claim claim = Claim.startingNow("finish-" + ++claims, LEASE);
        Instant longAfter = db.now().plus(HOUR);
        db.inTransaction(connection -> {
            assertThat(store.claimOne(connection, claim, event.eventId(), longAfter, longAfter.minus(LEASE), null))
                    .isPresent();
            Mark mark = status == EventStatus.DONE
                    ? Mark.done(event.eventId(), claim.token())
                    : Mark.dead(event.eventId(), claim.token(), true, "failed");
            assertThat(store.mark(connection, List.of(mark), at)).containsExactly(event.eventId());
        });
    }
}
