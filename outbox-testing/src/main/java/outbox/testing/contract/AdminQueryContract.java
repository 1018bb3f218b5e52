package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.admin.AdminResult;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventQuery.Order;
import outbox.admin.EventSummary;
import outbox.admin.OutboxAdmin.ErrorGroup;
import outbox.admin.OutboxStatistics;
import outbox.admin.OutboxStatistics.TypeCount;
import outbox.model.EventStatus;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Contract tests for the admin queries: statistics, backlog, events, errors, audit records. */
abstract class AdminQueryContract extends AdminFixture {

    @Test
    void statistics_count_events_by_type_and_status() {
        rows.given("new", 3, EventStatus.NEW);
        rows.given("dead", 2, EventStatus.DEAD);
        rows.write(OutboxRows.event("other").build());
        rows.execute("UPDATE %s SET event_type = 'order.paid' WHERE event_id = 'other'");

        OutboxStatistics statistics = admin.statistics();

        assertThat(statistics.byStatus())
                .isEqualTo(
                        Map.of(EventStatus.NEW, 4L, EventStatus.DONE, 0L, EventStatus.RETRY, 0L, EventStatus.DEAD, 2L));
        assertThat(statistics.byType())
                .containsExactly(
                        new TypeCount("order.paid", 0, 1), new TypeCount("test", 0, 3), new TypeCount("test", 3, 2));
    }

    @Test
    void the_age_of_the_oldest_pending_event_counts_by_the_clock_of_the_database() {
        rows.given("pending", 2, EventStatus.RETRY);
        rows.given("dead", 1, EventStatus.DEAD);
        Instant now = rows.now();
        rows.execute("UPDATE %s SET created_at = ? WHERE event_id = 'pending-0001'", now.minus(Duration.ofHours(2)));
        rows.execute("UPDATE %s SET created_at = ? WHERE event_id = 'dead-0000'", now.minus(Duration.ofHours(9)));

        Duration age = Objects.requireNonNull(admin.statistics().oldestPendingAge());

        assertThat(age).isBetween(Duration.ofHours(2), Duration.ofHours(2).plusMinutes(1));
    }

    @Test
    void an_empty_table_has_statistics_too() {
        OutboxStatistics statistics = admin.statistics();

        assertThat(statistics.byType()).isEmpty();
        assertThat(statistics.oldestPendingAge()).isNull();
    }

    @Test
    void the_backlog_counts_what_is_pending_and_what_of_it_is_locked() {
        rows.given("new", 3, EventStatus.NEW);
        rows.given("retry", 2, EventStatus.RETRY);
        rows.given("done", 4, EventStatus.DONE);
        rows.given("dead", 1, EventStatus.DEAD);
        Instant now = rows.now();
        rows.execute(
                "UPDATE %s SET locked_by = 'node-7', locked_at = ? WHERE event_id IN ('new-0000', 'retry-0001')", DAY);
        rows.execute("UPDATE %s SET created_at = ? WHERE event_id = 'new-0002'", now.minus(Duration.ofHours(2)));
        rows.execute("UPDATE %s SET created_at = ? WHERE event_id = 'dead-0000'", now.minus(Duration.ofHours(9)));

        Backlog backlog = admin.backlog();

        assertThat(backlog.pending()).isEqualTo(5);
        assertThat(backlog.locked()).isEqualTo(2);
        assertThat(backlog.oldestPendingAge())
                .isBetween(Duration.ofHours(2), Duration.ofHours(2).plusMinutes(1));
    }

    @Test
    void dead_events_are_counted_and_no_others() {
        assertThat(admin.deadEvents()).isZero();
        rows.given("new", 3, EventStatus.NEW);
        rows.given("done", 4, EventStatus.DONE);
        rows.given("dead", 2, EventStatus.DEAD);

        assertThat(admin.deadEvents()).isEqualTo(2);
    }

    @Test
    void the_backlog_tells_how_long_an_event_is_overdue_be_it_claimed_or_not() {
        rows.given("late", 1, EventStatus.NEW);
        rows.given("later", 1, EventStatus.RETRY);
        rows.given("dead", 1, EventStatus.DEAD);
        Instant now = rows.now();
        rows.execute(
                "UPDATE %s SET available_at = ?, locked_by = 'node-7', locked_at = ? WHERE event_id = 'late-0000'",
                now.minus(Duration.ofHours(1)), now);
        rows.execute("UPDATE %s SET available_at = ? WHERE event_id = 'later-0000'", now.plus(Duration.ofHours(1)));
        rows.execute("UPDATE %s SET available_at = ? WHERE event_id = 'dead-0000'", now.minus(Duration.ofHours(9)));

        assertThat(admin.backlog().longestOverdue())
                .isBetween(Duration.ofHours(1), Duration.ofHours(1).plusMinutes(1));

        rows.execute("UPDATE %s SET available_at = ? WHERE event_id = 'late-0000'", now.plus(Duration.ofHours(1)));

        assertThat(admin.backlog().longestOverdue()).isNull();
    }

    @Test
    void an_event_of_a_clock_that_is_ahead_has_no_negative_age() {
        rows.given("new", 1, EventStatus.NEW);
        Instant now = rows.now();
        rows.execute("UPDATE %s SET created_at = ?", now.plus(Duration.ofHours(2)));

        assertThat(admin.backlog().oldestPendingAge()).isEqualTo(Duration.ZERO);
    }

    @Test
    void an_empty_table_has_no_backlog() {
        rows.given("done", 1, EventStatus.DONE);

        Backlog backlog = admin.backlog();

        assertThat(backlog.pending()).isZero();
        assertThat(backlog.locked()).isZero();
        assertThat(backlog.oldestPendingAge()).isNull();
    }

    @Test
    void one_event_is_shown_with_all_that_is_known_about_it() {
        String payload = "{ \"b\": 1, \"a\": \"ü😀\" }";
        rows.write(OutboxRows.event("it")
                .payloadJson(payload)
                .header("trace", "t-1")
                .aggregateType("Order")
                .aggregateId("42")
                .tenantId("acme")
                .build());
        rows.execute(
                "UPDATE %s SET status = 2, attempts = 4, last_error = ?, locked_by = 'node-7', locked_at = ?",
                "e".repeat(500), DAY);

        EventDetails details = admin.find("it").orElseThrow();

        assertThat(details.event().payloadJson()).isEqualTo(payload);
        assertThat(details.headers()).isEqualTo(Map.of("trace", "t-1"));
        assertThat(details.lastError()).isEqualTo("e".repeat(500));
        assertThat(details.summary().status()).contains(EventStatus.RETRY);
        assertThat(details.summary().attempts()).isEqualTo(4);
        assertThat(details.summary().aggregateId()).isEqualTo("42");
        assertThat(details.summary().lockedBy()).isEqualTo("node-7");
        assertThat(details.summary().lockedAt()).isEqualTo(DAY);
        assertThat(details.toString()).doesNotContain("ü");
        assertThat(admin.find("another")).isEmpty();
    }

    @Test
    void an_event_that_no_listener_could_read_is_shown_all_the_same() {
        byte[] bytes = {0, (byte) 0xff, 1};
        rows.write(
                EventEnvelope.builder("test").eventId("it").payloadBytes(bytes).build());
        rows.execute("UPDATE %s SET headers = 'not json'");

        EventDetails details = admin.find("it").orElseThrow();

        assertThat(details.event().payloadBytes()).isEqualTo(bytes);
        assertThat(details.event().headersJson()).isEqualTo("not json");
        assertThatThrownBy(details::headers).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void a_list_shows_only_the_start_of_an_error() {
        rows.given("dead", 1, EventStatus.DEAD);
        rows.execute("UPDATE %s SET last_error = ?", "x" + "😀".repeat(300));

        EventSummary event =
                admin.find(EventQuery.of(EventFilter.all())).events().get(0);

        assertThat(event.errorStart()).isEqualTo("x" + "😀".repeat(99));
    }

    @Test
    void pages_in_either_order_show_every_event_once_though_many_were_stored_at_the_same_time() {
        List<String> ids = rows.given("event", 23, EventStatus.NEW);
        rows.execute("UPDATE %s SET created_at = ?", DAY);
        rows.execute("UPDATE %s SET created_at = ? WHERE event_id < 'event-0007'", DAY.plusNanos(1000));
        List<String> oldestFirst =
                Stream.concat(ids.stream().skip(7), ids.stream().limit(7)).toList();
        List<String> newestFirst = new ArrayList<>(oldestFirst);
        Collections.reverse(newestFirst);

        assertThat(pages(Order.OLDEST_FIRST)).isEqualTo(oldestFirst);
        assertThat(pages(Order.NEWEST_FIRST)).isEqualTo(newestFirst);
    }

    private List<String> pages(Order order) {
        List<String> seen = new ArrayList<>();
        EventQuery query = EventQuery.builder().order(order).pageSize(4).build();
        EventQuery.Page page = admin.find(query);
        while (page.next() != null && seen.size() < 100) {
            page.events().forEach(event -> seen.add(event.eventId()));
            page = admin.find(query.after(Objects.requireNonNull(page.next())));
        }
        page.events().forEach(event -> seen.add(event.eventId()));
        return seen;
    }

    @Test
    void events_that_come_and_go_between_two_pages_hide_no_other() {
        rows.given("event", 6, EventStatus.NEW);
        rows.execute("UPDATE %s SET created_at = ?", DAY);
        EventQuery query = EventQuery.builder().pageSize(3).build();

        EventQuery.Page first = admin.find(query);
        rows.execute("DELETE FROM %s WHERE event_id IN ('event-0003', 'event-0004')");
        rows.given("later", 2, EventStatus.NEW);
        EventQuery.Page second = admin.find(query.after(Objects.requireNonNull(first.next())));

        assertThat(second.events())
                .extracting(EventSummary::eventId)
                .containsExactly("event-0002", "event-0001", "event-0000");
    }

    @Test
    void each_condition_of_a_filter_must_hold() {
        rows.given("event", 4, EventStatus.NEW);
        rows.execute("UPDATE %s SET status = 3 WHERE event_id = 'event-0000'");
        rows.execute("UPDATE %s SET event_type = 'x' WHERE event_id = 'event-0001'");
        rows.execute("UPDATE %s SET aggregate_type = 'Order', aggregate_id = '7' WHERE event_id = 'event-0002'");
        rows.execute("UPDATE %s SET created_at = ? WHERE event_id = 'event-0003'", DAY);

        assertThat(found(EventFilter.builder().status(EventStatus.DEAD, EventStatus.DONE)))
                .containsExactly("event-0000");
        assertThat(found(EventFilter.builder().eventType("x"))).containsExactly("event-0001");
        assertThat(found(EventFilter.builder().aggregateType("Order").aggregateId("7")))
                .containsExactly("event-0002");
        assertThat(found(EventFilter.builder().aggregateType("Order").aggregateId("8")))
                .isEmpty();
        assertThat(found(EventFilter.builder().createdFrom(DAY).createdBefore(DAY.plusSeconds(1))))
                .containsExactly("event-0003");
        assertThat(found(EventFilter.builder().createdBefore(DAY))).isEmpty();
        assertThat(found(EventFilter.builder().eventIds(List.of("event-0001", "event-0003", "none"))))
                .containsExactly("event-0001", "event-0003");
        assertThat(found(EventFilter.builder().eventId("event-0001").eventType("test")))
                .isEmpty();
    }

    @Test
    void a_value_that_looks_like_sql_is_only_a_value() {
        rows.given("event", 3, EventStatus.DEAD);
        String hostile = "' OR '1' = '1' -- \\ %";

        assertThat(found(EventFilter.builder().eventType(hostile))).isEmpty();
        assertThat(found(EventFilter.builder().aggregateId(hostile))).isEmpty();
        assertThat(found(EventFilter.builder().eventId(hostile))).isEmpty();
        assertThat(admin.discard(request(EventFilter.builder()
                                        .aggregateType(hostile)
                                        .build())
                                .build())
                        .affected())
                .isZero();
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(3);
    }

    List<String> found(EventFilter.Builder filter) {
        return admin.find(EventQuery.builder().filter(filter.build()).build()).events().stream()
                .map(EventSummary::eventId)
                .sorted()
                .toList();
    }

    @Test
    void events_are_found_by_tenant_due_time_and_claim() {
        rows.given("event", 3, EventStatus.NEW);
        rows.execute("UPDATE %s SET available_at = ?", FAR);
        rows.execute("UPDATE %s SET tenant_id = 't1' WHERE event_id = 'event-0000'");
        rows.execute("UPDATE %s SET available_at = ? WHERE event_id = 'event-0001'", DAY);
        rows.execute("UPDATE %s SET locked_by = 'a_b/1/2', locked_at = ? WHERE event_id = 'event-0002'", DAY);

        assertThat(found(EventFilter.builder().tenantId("t1"))).containsExactly("event-0000");
        assertThat(found(EventFilter.builder().dueBefore(DAY.plusSeconds(1)))).containsExactly("event-0001");
        assertThat(found(EventFilter.builder().claimedBy("a_b"))).containsExactly("event-0002");
        assertThat(found(EventFilter.builder().claimedBy("a_b/1/2").claimedBefore(DAY.plusSeconds(1))))
                .containsExactly("event-0002");
        assertThat(found(EventFilter.builder().claimedBy("axb"))).isEmpty(); // the underscore is not a wildcard
        assertThat(found(EventFilter.builder().claimedBy("a_"))).isEmpty(); // a prefix of the name does not match
        assertThat(found(EventFilter.builder().claimedBefore(DAY))).isEmpty();
    }

    @Test
    void dead_events_are_grouped_by_their_errors_and_changed_by_group() {
        rows.given("dead", 5, EventStatus.DEAD);
        rows.execute("UPDATE %s SET last_error = 'Timeout after 31 ms for order 17', done_at = ?", DAY);
        rows.execute("UPDATE %s SET last_error = 'Timeout after 4711 ms for order 2' WHERE event_id = 'dead-0001'");
        rows.execute("UPDATE %s SET last_error = NULL, event_type = 'x' WHERE event_id = 'dead-0004'");

        List<ErrorGroup> groups = admin.errors(EventFilter.all());

        assertThat(groups).extracting(ErrorGroup::count).containsExactly(4L, 1L);
        assertThat(groups.get(0).eventTypes()).containsExactly("test");
        assertThat(groups.get(0).oldest()).isEqualTo(DAY);
        assertThat(groups.get(1).error()).isEmpty();
        assertThat(groups.get(1).exampleId()).isEqualTo("dead-0004");
        AdminResult replayed = admin.replay(request(EventFilter.all())
                .errorFingerprint(groups.get(0).fingerprint())
                .cap(3)
                .build());
        assertThat(replayed.matched()).isEqualTo(4);
        assertThat(replayed.affected()).isEqualTo(3);
        assertThat(rows.count("status = 3 AND event_id IN ('dead-0003', 'dead-0004')"))
                .isEqualTo(2);
    }

    @Test
    void audit_records_are_listed_the_newest_first_for_their_table_only() {
        admin.discard(request(EventFilter.all()).requestId("r1").build());
        admin.discard(request(EventFilter.all()).requestId("r2").build());
        rows.execute("UPDATE outbox_audit SET started_at = ? WHERE request_id = 'r1'", DAY);
        rows.execute(
                "INSERT INTO outbox_audit (request_id, outbox_table, action, actor, reason, selection, matched,"
                        + " affected, started_at) VALUES ('r3', 'other_outbox', 'REPLAY', 'x', 'x', 'x', 0, 0, ?)",
                DAY);

        assertThat(admin.audits(10)).extracting(AuditEntry::requestId).containsExactly("r2", "r1");
        assertThat(admin.audits(1)).extracting(AuditEntry::requestId).containsExactly("r2");
    }
}
