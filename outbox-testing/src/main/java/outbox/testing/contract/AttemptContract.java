package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.admin.EventAdministration;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract tests for a store that keeps the history of attempts. The store must have
 * {@link EventAdministration}.
 */
@Experimental
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class AttemptContract {

    private static final Duration LEASE = Duration.ofMinutes(5);

    private StoreFixture db;
    private LeasingEventStore store;
    private EventAdministration history; // of the same store
    private OutboxAdmin admin;

    /** Returns a new, empty table with its store. The table for the history must not exist yet. */
    protected abstract StoreFixture createFixture() throws SQLException;

    /** Creates the table for the history. May be called twice. */
    protected abstract void createAttempts(StoreFixture fixture);

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
        history = EventAdministration.of(store);
        admin = new OutboxAdmin(db.dataSource()::getConnection, store);
    }

    @Test
    void without_a_place_for_it_there_is_no_history() {
        EventEnvelope event = given();

        assertThat(db.<Boolean>call(history::keepsAttempts)).isFalse();
        assertThat(history(event)).isEmpty();
        add(10, attempt(event, 1, "boom")); // must not fail: the table may have been dropped after the check
        assertThat(history(event)).isEmpty();
        purge(db.now().plusSeconds(60));
    }

    @Test
    void attempts_are_shown_as_they_were_in_their_order() {
        createAttempts(db);
        createAttempts(db);
        EventEnvelope event = given();
        EventEnvelope other = given();
        Attempt first = attempt(event, 1, "Grüße \uD83D\uDE00: 'boom'");
        Attempt second = attempt(event, 2, null);
        assertThat(db.<Boolean>call(history::keepsAttempts)).isTrue();

        add(10, first, attempt(other, 1, "other"));
        add(10, second);

        assertThat(history(event)).containsExactly(first, second);
        assertThat(history(other)).extracting(Attempt::error).containsExactly("other");
    }

    @Test
    void only_the_last_attempts_of_each_event_are_kept() {
        createAttempts(db);
        EventEnvelope event = given();
        EventEnvelope other = given();
        add(3, attempt(other, 1, "other"));

        IntStream.rangeClosed(1, 7).forEach(i -> add(3, attempt(event, i, "boom " + i)));
        add(3, attempt(event, 1, "after a replay"), attempt(event, 1, "not counted"));

        assertThat(history(event))
                .extracting(Attempt::error)
                .containsExactly("boom 7", "after a replay", "not counted");
        assertThat(history(other)).hasSize(1);
    }

    @Test
    void an_error_that_no_database_would_store_is_made_fit() {
        createAttempts(db);
        EventEnvelope event = given();

        add(10, attempt(event, 1, "nul\0 lone\ud800 " + "x".repeat(5000)));

        assertThat(history(event))
                .singleElement()
                .satisfies(kept ->
                        assertThat(kept.error()).startsWith("nul? lone? x").hasSize(4000));
    }

    @Test
    void what_is_forgotten_is_gone_and_the_rest_stays() {
        createAttempts(db);
        EventEnvelope event = given();
        EventEnvelope other = given();
        add(10, attempt(event, 1, "a"), attempt(event, 2, "b"), attempt(other, 1, "c"));

        db.inTransaction(connection -> history.forgetAttempts(connection, List.of(event.eventId())));

        assertThat(history(event)).isEmpty();
        assertThat(history(other)).hasSize(1);
    }

    @Test
    void the_history_goes_with_the_purge_that_finds_its_event_gone() {
        createAttempts(db);
        EventEnvelope done = given();
        EventEnvelope cancelled = given();
        EventEnvelope stays = given();
        for (EventEnvelope event : List.of(done, cancelled, stays)) {
            add(10, attempt(event, 1, "boom"), attempt(event, 2, "boom"));
        }
        db.inTransaction(connection -> {
            Claim claim = Claim.startingNow("c", LEASE);
            Instant now = store.now(connection).plusSeconds(1);
            store.claimOne(connection, claim, done.eventId(), now, now.minus(LEASE), null);
            store.mark(connection, List.of(Mark.done(done.eventId(), "c")), now);
            store.claimOne(connection, claim, cancelled.eventId(), now, now.minus(LEASE), null);
            store.remove(connection, List.of(Mark.done(cancelled.eventId(), "c")));
        });

        purge(db.now().minusSeconds(3600));
        assertThat(attempts()).as("nothing is old enough").isEqualTo(6);

        purge(db.now().plusSeconds(3600));
        assertThat(attempts()).isEqualTo(2);
        assertThat(history(stays)).hasSize(2);
    }

    private void purge(Instant before) {
        db.call(connection -> history.purge(connection, EventStatus.DONE, before, 100));
        while (db.<Integer>call(connection -> history.purgeAttempts(connection, before, 3)) == 3) {
            // each call deletes a limited number of attempts
        }
    }

    private long attempts() {
        return new StoreFixture(db.dataSource(), store, "outbox_attempt", db.zonedTimes()).count("1 = 1");
    }

    private EventEnvelope given() {
        EventEnvelope event = EventEnvelope.ofJson("T", "{}");
        db.insert(event);
        return event;
    }

    private Attempt attempt(EventEnvelope event, int number, @Nullable String error) {
        return new Attempt(event.eventId(), number, db.now(), Duration.ofMillis(1234), "node-1", error);
    }

    private void add(int keep, Attempt... attempts) {
        db.inTransaction(connection -> history.addAttempts(connection, List.of(attempts), keep));
    }

    private List<Attempt> history(EventEnvelope event) {
        return admin.find(event.eventId()).orElseThrow().history();
    }
}
