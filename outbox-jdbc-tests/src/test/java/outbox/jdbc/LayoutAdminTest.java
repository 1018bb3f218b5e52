package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.admin.AdminRequest;
import outbox.admin.Backlog;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;

/** Admin operations on a table with another layout. */
@Timeout(60)
class LayoutAdminTest {

    @SuppressWarnings("NullAway.Init") // before each test
    private ModuleTable db;

    @SuppressWarnings("NullAway.Init") // before each test
    private OutboxAdmin admin;

    private final UUID pending = UUID.randomUUID();
    private final UUID failed = UUID.randomUUID();
    private final UUID done = UUID.randomUUID();
    private final UUID dead = UUID.randomUUID();

    @BeforeEach
    void oneEventOfEachStatus() {
        db = new ModuleTable();
        admin = new OutboxAdmin(db.dataSource::getConnection, db.store);
        List.of(pending, failed, done, dead).forEach(eventId -> db.insert(eventId, "{\"a\": 1}"));
        String set = "UPDATE " + db.table + " SET ";
        db.execute(set + "attempts = 2, last_error = 'busy' WHERE event_id = ?", failed);
        db.execute(set + "published_at = now() WHERE event_id = ?", done);
        db.execute(set + "attempts = 25, last_error = 'refused' WHERE event_id = ?", dead);
    }

    @Test
    void events_are_listed_by_status_and_shown_with_all_that_is_known() {
        assertThat(ids(EventStatus.NEW)).containsExactly(pending.toString());
        assertThat(ids(EventStatus.RETRY)).containsExactly(failed.toString());
        assertThat(ids(EventStatus.DONE)).containsExactly(done.toString());
        assertThat(ids(EventStatus.DEAD)).containsExactly(dead.toString());

        EventDetails details = admin.find(dead.toString()).orElseThrow();
        assertThat(details.lastError()).isEqualTo("refused");
        assertThat(details.event().payloadJson()).isEqualTo("{\"a\": 1}");
        assertThat(details.event().tenantId()).isEqualTo(ModuleTable.TENANT.toString());
        assertThat(details.summary().attempts()).isEqualTo(25);
        assertThat(admin.find("no-such-event")).isEmpty();
        assertThat(admin.find(UUID.randomUUID().toString())).isEmpty();
    }

    @Test
    void statistics_count_by_the_state_that_the_columns_tell() {
        assertThat(admin.statistics().byStatus())
                .containsEntry(EventStatus.NEW, 1L)
                .containsEntry(EventStatus.RETRY, 1L)
                .containsEntry(EventStatus.DONE, 1L)
                .containsEntry(EventStatus.DEAD, 1L);
    }

    @Test
    void the_backlog_tells_what_waits_and_what_is_not_published_dead_or_not() {
        db.execute("UPDATE " + db.table + " SET locked_at = now() WHERE event_id = ?", pending);
        db.execute("UPDATE " + db.table + " SET created_at = now() - interval '9 hours' WHERE event_id = ?", dead);

        Backlog backlog = admin.backlog();

        assertThat(backlog.unpublished()).isEqualTo(3);
        assertThat(backlog.unpublished()).isEqualTo(db.count("published_at IS NULL"));
        assertThat(backlog.pending()).isEqualTo(2);
        assertThat(backlog.locked()).isEqualTo(1);
        assertThat(backlog.oldestPendingAge()).isLessThan(Duration.ofHours(1)); // the dead event does not count
    }

    @Test
    void dead_events_are_counted() {
        assertThat(admin.deadEvents()).isEqualTo(1);
    }

    @Test
    void a_dead_event_is_replayed_with_no_attempt_made_and_a_record_of_who_did_it() {
        long affected = admin.replay(request(dead, done)).affected();

        assertThat(affected).isEqualTo(1); // the delivered event is not dead
        assertThat(db.row(dead)).isEqualTo(new ModuleTable.Row(false, 0, false, null));
        assertThat(db.row(done).published()).isTrue();
        assertThat(db.number("SELECT affected FROM outbox_audit")).isEqualTo(1);
    }

    @Test
    void a_delivered_event_is_reset_by_its_id_if_the_filter_says_so() {
        EventFilter delivered = EventFilter.builder()
                .status(EventStatus.DONE)
                .eventIds(List.of(done.toString()))
                .build();

        long affected = admin.replay(AdminRequest.builder()
                        .filter(delivered)
                        .actor("op")
                        .reason("test")
                        .confirmed(true)
                        .build())
                .affected();

        assertThat(affected).isEqualTo(1);
        assertThat(db.row(done)).isEqualTo(new ModuleTable.Row(false, 0, false, null));
    }

    @Test
    void an_event_that_waits_for_its_next_attempt_is_reset_by_its_id_unless_it_is_claimed() {
        UUID claimed = UUID.randomUUID();
        db.insert(claimed, "{}");
        db.execute("UPDATE " + db.table + " SET attempts = 3, locked_at = now() WHERE event_id = ?", claimed);
        db.execute("UPDATE " + db.table + " SET available_at = now() + interval '1 day' WHERE event_id = ?", failed);
        EventFilter retry = EventFilter.builder()
                .status(EventStatus.RETRY)
                .eventIds(List.of(failed.toString(), claimed.toString(), pending.toString()))
                .build();

        long affected = admin.replay(AdminRequest.builder()
                        .filter(retry)
                        .actor("op")
                        .reason("test")
                        .confirmed(true)
                        .build())
                .affected();

        assertThat(affected).isEqualTo(1);
        assertThat(db.row(failed)).isEqualTo(new ModuleTable.Row(false, 0, false, null));
        assertThat(db.count("event_id = '" + failed + "' AND available_at <= now()"))
                .isEqualTo(1);
        assertThat(db.row(claimed)).isEqualTo(new ModuleTable.Row(false, 3, true, null));
    }

    @Test
    void only_a_dead_event_is_discarded() {
        assertThat(admin.discard(request(dead, failed, done)).affected()).isEqualTo(1);

        assertThat(db.count("1 = 1")).isEqualTo(3);
        assertThat(db.count("event_id = '" + dead + "'")).isZero();
    }

    @Test
    void a_search_goes_on_where_the_page_before_ended() {
        EventQuery query = EventQuery.builder().pageSize(3).build();

        List<EventSummary> first = admin.find(query).events();
        List<EventSummary> second =
                admin.find(query.after(first.get(2).cursor())).events();

        assertThat(first).hasSize(3);
        assertThat(second).hasSize(1).doesNotContainAnyElementsOf(first);
    }

    private List<String> ids(EventStatus status) {
        EventFilter filter = EventFilter.builder().status(status).build();
        return admin.find(EventQuery.of(filter)).events().stream()
                .map(EventSummary::eventId)
                .toList();
    }

    private static AdminRequest request(UUID... eventIds) {
        return AdminRequest.builder()
                .eventIds(Arrays.stream(eventIds).map(UUID::toString).toList())
                .actor("op")
                .reason("test")
                .confirmed(true)
                .build();
    }
}
