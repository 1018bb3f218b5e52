package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventHeaders;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventAdministration.ClaimHolder;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Contract tests for the admin actions that change events: release, reset, replay, discard. */
abstract class AdminActionContract extends AdminQueryContract {

    @Test
    void who_holds_claims_is_told_by_node() {
        rows.given("event", 4, EventStatus.NEW);
        rows.execute("UPDATE %s SET locked_by = 'n1/a/1', locked_at = ? WHERE event_id = 'event-0000'", DAY);
        rows.execute(
                "UPDATE %s SET locked_by = 'n1/a/2', locked_at = ? WHERE event_id = 'event-0001'", DAY.plusSeconds(9));
        rows.execute("UPDATE %s SET locked_by = 'n2/b/1', locked_at = ? WHERE event_id = 'event-0002'", DAY);

        assertThat(admin.claimHolders())
                .containsExactly(
                        new ClaimHolder("n1/a", 2, DAY, DAY.plusSeconds(9)), new ClaimHolder("n2/b", 1, DAY, DAY));
    }

    @Test
    void the_claims_of_a_silent_node_are_released_and_those_of_a_living_one_are_not() {
        LeasingEventStore store = (LeasingEventStore) store(TABLE);
        rows.given("event", 3, EventStatus.NEW);
        rows.execute("UPDATE %s SET locked_by = 'n1/a/1', locked_at = ? WHERE event_id = 'event-0000'", DAY);
        rows.execute("UPDATE %s SET locked_by = 'n10/a/1', locked_at = ? WHERE event_id = 'event-0001'", DAY);

        assertThatThrownBy(() -> admin.release(release("n1", DAY)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("n1/a");
        AdminResult released = admin.release(release("n1", DAY.plusSeconds(1)));

        assertThat(released.affected()).isEqualTo(1);
        assertThat(rows.count("locked_by = 'n10/a/1' AND locked_at = ?", DAY)).isEqualTo(1);
        Claim next = new Claim("n3/c/1", Long.MAX_VALUE);
        var claimed = rows.in(connection -> {
            Instant now = store.now(connection).plusSeconds(1);
            return store.claim(connection, next, ClaimRequest.of(now, DAY.minusSeconds(1), 10));
        });
        assertThat(claimed).filteredOn(ClaimedEvent::suspect).hasSize(1);
        assertThat(claimed).hasSize(2); // the suspect event and the one that was never claimed
        assertThat(admin.audit(released.requestId()).orElseThrow().action()).isEqualTo(AdminAction.RELEASE);
    }

    private AdminRequest release(String node, Instant before) {
        return AdminRequest.builder()
                .actor("operator")
                .reason("test")
                .unfinished(EventFilter.builder()
                        .claimedBy(node)
                        .claimedBefore(before)
                        .build())
                .confirmed(true)
                .build();
    }

    @Test
    void waiting_events_are_made_due_and_keep_their_attempts() {
        rows.given("retry", 3, EventStatus.RETRY);
        rows.given("dead", 1, EventStatus.DEAD);
        rows.execute("UPDATE %s SET attempts = 9, available_at = ?", FAR);
        rows.execute("UPDATE %s SET locked_by = 'n1/a/1', locked_at = ? WHERE event_id = 'retry-0001'", DAY);

        AdminResult result = admin.runNow(AdminRequest.builder()
                .actor("operator")
                .reason("test")
                .unfinished(EventFilter.all())
                .confirmed(true)
                .build());

        assertThat(result.affected()).isEqualTo(2);
        assertThat(rows.count("available_at < ? AND attempts = 9 AND status = 2", FAR))
                .isEqualTo(2);
        assertThatThrownBy(() -> admin.runNow(request(EventFilter.all()).build()))
                // this request selects dead events
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void a_request_that_is_not_confirmed_answers_how_many_and_changes_nothing() {
        rows.given("dead", 3, EventStatus.DEAD);
        rows.given("new", 2, EventStatus.NEW);

        AdminResult replay =
                admin.replay(request(EventFilter.all()).confirmed(false).build());
        AdminResult discard =
                admin.discard(request(EventFilter.all()).confirmed(false).cap(2).build());

        assertThat(replay.dryRun()).isTrue();
        assertThat(replay.affected()).isEqualTo(3);
        assertThat(discard.matched()).isEqualTo(3);
        assertThat(discard.affected()).isEqualTo(2);
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(3);
        assertThat(audits()).isZero();
    }

    @Test
    void a_replayed_event_is_new_and_due_with_no_attempt_made_and_keeps_its_error() {
        rows.given("dead", 2, EventStatus.DEAD);
        rows.execute("UPDATE %s SET attempts = 9, last_error = 'broker down', available_at = ?", DAY);

        AdminResult result = admin.replay(request(EventFilter.all()).build());

        assertThat(result.affected()).isEqualTo(2);
        assertThat(result.complete()).isTrue();
        EventDetails event = admin.find("dead-0001").orElseThrow();
        assertThat(event.summary().status()).contains(EventStatus.NEW);
        assertThat(event.summary().attempts()).isZero();
        assertThat(event.summary().doneAt()).isNull();
        assertThat(event.summary().availableAt()).isAfter(DAY);
        assertThat(event.lastError()).isEqualTo("broker down");
        List<?> due = rows.in(connection ->
                store(TABLE).pollPending(connection, admin.statistics().at(), Duration.ZERO, 10));
        assertThat(due).hasSize(2);
    }

    @Test
    void only_dead_events_are_replayed_or_discarded() {
        List<String> ids = new ArrayList<>();
        for (EventStatus status : EventStatus.values()) {
            ids.addAll(rows.given(status.name(), 1, status));
        }

        AdminResult replay = admin.replay(request(EventFilter.ids(ids)).build());
        AdminResult discard = admin.discard(request(EventFilter.ids(ids)).build());

        assertThat(replay.affected()).isEqualTo(1);
        assertThat(discard.affected()).isZero();
        assertThat(rows.count(EventStatus.DONE)).isEqualTo(1);
        assertThat(rows.count(EventStatus.RETRY)).isEqualTo(1);
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(2);
    }

    @Test
    void an_event_that_waits_for_its_next_attempt_is_reset_by_its_id() {
        rows.given("retry", 3, EventStatus.RETRY);
        rows.execute("UPDATE %s SET attempts = 9, last_error = 'broker down', available_at = ?", FAR);
        rows.execute("UPDATE %s SET locked_by = 'node-7', locked_at = ? WHERE event_id = 'retry-0001'", DAY);
        EventFilter named = EventFilter.builder()
                .status(EventStatus.RETRY)
                .eventIds(List.of("retry-0000", "retry-0001"))
                .build();

        AdminResult result = admin.replay(request(named).build());

        assertThat(result.affected()).isEqualTo(1);
        EventDetails reset = admin.find("retry-0000").orElseThrow();
        assertThat(reset.summary().status()).contains(EventStatus.RETRY);
        assertThat(reset.summary().attempts()).isZero();
        assertThat(reset.summary().availableAt()).isBefore(FAR);
        List<?> due = rows.in(connection ->
                store(TABLE).pollPending(connection, admin.statistics().at(), Duration.ZERO, 10));
        assertThat(due).hasSize(1);
        // the claimed one, and the one that the filter does not name
        assertThat(rows.count("attempts = 9")).isEqualTo(2);
        assertThat(rows.count("locked_by = 'node-7'")).isEqualTo(1);
    }

    @Test
    void events_that_wait_for_their_next_attempt_cannot_be_reset_by_a_filter_nor_discarded() {
        EventFilter all = EventFilter.builder().status(EventStatus.RETRY).build();
        EventFilter named = EventFilter.builder()
                .status(EventStatus.RETRY)
                .eventIds(List.of("retry-0000"))
                .build();

        assertThatThrownBy(() -> request(all)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> admin.discard(request(named).build())).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void a_delivered_event_is_replayed_if_the_filter_says_so_and_has_no_error_left() {
        rows.given("done", 2, EventStatus.DONE);
        rows.given("dead", 1, EventStatus.DEAD);
        rows.execute("UPDATE %s SET attempts = 3, last_error = 'broker down'");
        EventFilter done = EventFilter.builder().status(EventStatus.DONE).build();

        AdminResult dryRun = admin.replay(request(done).confirmed(false).build());
        AdminResult result = admin.replay(request(done).build());

        assertThat(dryRun.affected()).isEqualTo(2);
        assertThat(result.affected()).isEqualTo(2);
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(1);
        EventDetails event = admin.find("done-0000").orElseThrow();
        assertThat(event.summary().status()).contains(EventStatus.NEW);
        assertThat(event.summary().attempts()).isZero();
        assertThat(event.summary().doneAt()).isNull();
        assertThat(event.lastError()).isNull();
        assertThat(admin.audit(result.requestId()).orElseThrow().selection()).isEqualTo("DONE events, at most 1000");
    }

    @Test
    void delivered_and_dead_events_are_replayed_together() {
        rows.given("done", 2, EventStatus.DONE);
        rows.given("dead", 2, EventStatus.DEAD);
        rows.given("new", 1, EventStatus.NEW);
        EventFilter both =
                EventFilter.builder().status(EventStatus.DONE, EventStatus.DEAD).build();

        assertThat(admin.replay(request(both).build()).affected()).isEqualTo(4);
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(5);
    }

    @Test
    void delivered_events_can_be_replayed_but_neither_discarded_nor_skipped() {
        rows.given("done", 2, EventStatus.DONE);
        AdminRequest request =
                request(EventFilter.builder().status(EventStatus.DONE).build()).build();
        AdminRequest limited = request(EventFilter.all()).eventsPerSecond(5).build();

        for (AdminRequest wrong : List.of(request, limited)) {
            assertThatThrownBy(() -> admin.discard(wrong)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> admin.skip(wrong)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(rows.count(EventStatus.DONE)).isEqualTo(2);
    }

    @Test
    void a_replayed_event_says_so_in_a_header_and_keeps_the_others() {
        rows.write(OutboxRows.event("plain").build());
        rows.write(OutboxRows.event("traced").header("trace", "ü-1").build());
        rows.write(OutboxRows.event("unreadable").build());
        rows.execute("UPDATE %s SET status = 3");
        rows.execute("UPDATE %s SET headers = 'not json' WHERE event_id = 'unreadable'");

        AdminResult first = admin.replay(
                request(EventFilter.all()).requestId("r1").toListener("crm").build());

        assertThat(first.affected()).isEqualTo(3);
        assertThat(headersOf("plain")).isEqualTo(Map.of(EventHeaders.REPLAY, "r1", EventHeaders.REPLAY_TO, "crm"));
        assertThat(headersOf("traced"))
                .isEqualTo(Map.of("trace", "ü-1", EventHeaders.REPLAY, "r1", EventHeaders.REPLAY_TO, "crm"));
        assertThat(admin.find("unreadable").orElseThrow().event().headersJson()).isEqualTo("not json");
        assertThat(admin.audit("r1").orElseThrow().selection())
                .isEqualTo("DEAD events, at most 1000, to listener 'crm'");

        rows.execute("UPDATE %s SET status = 3");
        admin.replay(request(EventFilter.all()).requestId("r2").build());

        assertThat(headersOf("traced")).isEqualTo(Map.of("trace", "ü-1", EventHeaders.REPLAY, "r2"));
    }

    private Map<String, String> headersOf(String eventId) {
        return admin.find(eventId).orElseThrow().headers();
    }

    @Test
    void replayed_events_become_due_in_the_order_of_their_writing_at_the_rate_that_was_asked_for() {
        List<String> ids = rows.given("dead", 1100, EventStatus.DEAD);

        AdminResult result = admin.replay(
                request(EventFilter.all()).cap(2000).eventsPerSecond(100).build());

        assertThat(result.affected()).isEqualTo(1100);
        Instant started = admin.audit(result.requestId()).orElseThrow().startedAt();
        for (int i : new int[] {0, 1, 499, 500, 1099}) {
            assertThat(admin.find(ids.get(i)).orElseThrow().summary().availableAt())
                    .as(ids.get(i))
                    .isEqualTo(started.plusMillis(10L * i));
        }
    }

    @Test
    void without_a_rate_they_become_due_at_once_and_still_one_after_the_other() {
        List<String> ids = rows.given("dead", 20, EventStatus.DEAD);

        admin.replay(request(EventFilter.all()).build());

        List<Instant> due = ids.stream()
                .map(id -> admin.find(id).orElseThrow().summary().availableAt())
                .toList();
        assertThat(due).isSorted().doesNotHaveDuplicates();
        assertThat(Duration.between(due.get(0), due.get(19))).isLessThan(Duration.ofMillis(1));
    }

    @Test
    void events_are_chosen_by_what_their_error_says() {
        rows.given("dead", 4, EventStatus.DEAD);
        rows.execute("UPDATE %s SET last_error = ? WHERE event_id = 'dead-0000'", "IOException: 100% down!");
        rows.execute("UPDATE %s SET last_error = ? WHERE event_id = 'dead-0001'", "IOException: 100 down");
        rows.execute("UPDATE %s SET last_error = ? WHERE event_id = 'dead-0002'", "a_b");

        assertThat(found(EventFilter.builder().errorContains("IOException"))).containsExactly("dead-0000", "dead-0001");
        assertThat(found(EventFilter.builder().errorContains("100% down!"))).containsExactly("dead-0000");
        assertThat(found(EventFilter.builder().errorContains("a_"))).containsExactly("dead-0002");
        assertThat(found(EventFilter.builder().errorContains("axb"))).isEmpty();
        AdminResult result = admin.replay(
                request(EventFilter.builder().errorContains("down").build()).build());
        assertThat(result.affected()).isEqualTo(2);
    }

    @Test
    void a_discarded_event_is_gone() {
        List<String> ids = rows.given("dead", 3, EventStatus.DEAD);

        AdminResult result =
                admin.discard(request(EventFilter.ids(ids.subList(0, 2))).build());

        assertThat(result.affected()).isEqualTo(2);
        assertThat(admin.find("dead-0000")).isEmpty();
        assertThat(admin.find("dead-0002")).isPresent();
    }

    @Test
    void a_claim_from_before_the_death_cannot_mark_the_replayed_event() {
        LeasingEventStore store = (LeasingEventStore) store(TABLE);
        rows.write(OutboxRows.event("it").build());
        rows.in(connection -> {
            Instant now = store.now(connection).plusSeconds(1);
            store.claim(connection, new Claim("old", Long.MAX_VALUE), ClaimRequest.of(now, now, 1));
            return store.mark(connection, List.of(Mark.dead("it", "old", true, "boom")), now);
        });

        admin.replay(request(EventFilter.all()).build());
        var marked =
                rows.in(connection -> store.mark(connection, List.of(Mark.done("it", "old")), store.now(connection)));

        assertThat(marked).isEmpty();
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(1);
    }
}
