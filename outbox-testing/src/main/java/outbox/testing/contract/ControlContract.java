package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.Experimental;
import outbox.admin.EventAdministration;
import outbox.model.EventStatus;
import outbox.spi.EventControl;
import outbox.spi.EventControl.Pending;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract tests for due times, keys, deadlines, priorities and changes of pending events. The store must be a
 * {@link LeasingEventStore} with {@link EventControl} and {@link EventAdministration}.
 */
@Experimental
public abstract class ControlContract extends PriorityContract {

    @Test
    void a_pending_event_is_found_by_id_and_by_key_and_cancelled_once() {
        EventEnvelope event = keyed("k");
        write(event);

        Pending found = find(EventRef.key("k")).orElseThrow();
        assertThat(found).isEqualTo(new Pending(event.eventId(), EventStatus.NEW, null, "k"));
        assertThat(find(EventRef.id(event.eventId()))).contains(found);
        assertThat(cancel(found)).isTrue();
        assertThat(cancel(found)).isFalse();

        assertThat(find(EventRef.key("k"))).isEmpty();
        assertThat(write(keyed("k"))).isEmpty();
    }

    @Test
    void an_event_that_was_claimed_since_it_was_found_is_not_changed() {
        EventEnvelope event = keyed("k");
        write(event);
        Pending found = find(EventRef.key("k")).orElseThrow();
        claim(db.now(), 1);

        assertThat(cancel(found)).isFalse();
        assertThat(reschedule(found, Instant.EPOCH)).isFalse();
        assertThat(find(EventRef.key("k")).orElseThrow().lockedBy()).isNotNull();
        finish(event, EventStatus.DONE, db.now());
        assertThat(find(EventRef.key("k"))).isEmpty();
        assertThat(find(EventRef.id(event.eventId())).orElseThrow().status()).isEqualTo(EventStatus.DONE);
    }

    @Test
    void a_rescheduled_event_is_due_at_its_new_time() {
        Instant due = db.now().plus(HOUR);
        EventEnvelope event = keyed("k");
        write(event);
        Pending found = find(EventRef.key("k")).orElseThrow();

        assertThat(reschedule(found, due)).isTrue();

        assertThat(claim(due.minusNanos(1000), 1)).isEmpty();
        assertThat(claimIds(due, 1)).containsExactly(event.eventId());
    }

    @Test
    void a_cancelled_event_is_back_after_a_rollback() throws SQLException {
        EventEnvelope event = keyed("k");
        write(event);
        Pending found = find(EventRef.key("k")).orElseThrow();

        try (Connection connection = db.open()) {
            assertThat(control.cancel(connection, found)).isTrue();
            connection.rollback();
        }

        assertThat(claimIds(db.now(), 1)).containsExactly(event.eventId());
    }

    @Test
    void a_claim_passes_over_an_event_that_an_open_transaction_cancels() throws SQLException {
        EventEnvelope cancelled = keyed("k");
        EventEnvelope other = event().build();
        write(cancelled, other);
        Pending found = find(EventRef.key("k")).orElseThrow();

        try (Connection connection = db.open()) {
            assertThat(control.cancel(connection, found)).isTrue();
            assertThat(claimIds(db.now(), 10)).containsExactly(other.eventId());
            connection.commit();
        }

        assertThat(claimIds(db.now(), 10)).isEmpty();
    }

    private Optional<Pending> find(EventRef event) {
        return db.call(connection -> control.find(connection, event, false));
    }

    private boolean reschedule(Pending found, Instant availableAt) {
        return db.call(connection -> control.reschedule(connection, found, availableAt));
    }

    private boolean cancel(Pending found) {
        return db.call(connection -> control.cancel(connection, found));
    }
}
