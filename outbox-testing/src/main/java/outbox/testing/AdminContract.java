package outbox.testing;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequest;
import outbox.admin.AdminRequestFailedException;
import outbox.admin.AdminResult;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.BlockedAggregate;
import outbox.admin.ClaimHolder;
import outbox.admin.ErrorGroup;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventPage;
import outbox.admin.EventQuery;
import outbox.admin.EventQuery.Order;
import outbox.admin.EventSummary;
import outbox.admin.OutboxAdmin;
import outbox.admin.OutboxStatistics;
import outbox.admin.TypeCount;
import outbox.model.EventStatus;
import outbox.spi.AdminEventStore;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;
import outbox.spi.Replay;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

/** What an operator may rely on, whatever the database. A subclass supplies the database and its store. */
public abstract class AdminContract {

    private static final String TABLE = "outbox_event";
    private static final String SPECIFICATION_TABLE = "spec_outbox";
    private static final Instant FAR = Instant.parse("2300-01-01T00:00:00Z");
    private static final Instant DAY = Instant.parse("2026-03-01T12:00:00Z");

    private OutboxRows rows;
    private OutboxAdmin admin;

    /** The same database for the whole test, with at least two connections. */
    protected abstract DataSource dataSource();

    /** A new store for a table of that database; an {@link AdminEventStore}. */
    protected abstract EventStore store(String table);

    /** Creates the table of the store, and the audit table beside it. */
    protected abstract void createTables(EventStore store);

    private OutboxRows rowsOf(String table) {
        return new OutboxRows(dataSource(), store(table), table);
    }

    private OutboxAdmin adminOf(String table) {
        return new OutboxAdmin(dataSource()::getConnection, store(table));
    }

    @BeforeEach
    void freshTables() {
        rows = rowsOf(TABLE);
        admin = adminOf(TABLE);
        for (String table : List.of(TABLE, SPECIFICATION_TABLE, "outbox_audit")) {
            rows.execute("DROP TABLE IF EXISTS " + table + " CASCADE");
        }
        createTables(store(TABLE));
    }

    // ---- looking ----

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
        Instant now = rows.in(connection -> ((AdminEventStore) store(TABLE)).now(connection));
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
        Instant now = rows.in(connection -> ((AdminEventStore) store(TABLE)).now(connection));
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
        Instant now = rows.in(connection -> ((AdminEventStore) store(TABLE)).now(connection));
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
        Instant now = rows.in(connection -> ((AdminEventStore) store(TABLE)).now(connection));
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
        EventPage page = admin.find(query);
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

        EventPage first = admin.find(query);
        rows.execute("DELETE FROM %s WHERE event_id IN ('event-0003', 'event-0004')");
        rows.given("later", 2, EventStatus.NEW);
        EventPage second = admin.find(query.after(Objects.requireNonNull(first.next())));

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

    private List<String> found(EventFilter.Builder filter) {
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
        assertThat(found(EventFilter.builder().claimedBy("axb"))).isEmpty(); // no pattern
        assertThat(found(EventFilter.builder().claimedBy("a_"))).isEmpty(); // whole names
        assertThat(found(EventFilter.builder().claimedBefore(DAY))).isEmpty();
    }

    // ---- claims ----

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
            return store.claim(connection, next, now, DAY.minusSeconds(1), Duration.ZERO, 10);
        });
        assertThat(claimed).filteredOn(ClaimedEvent::suspect).hasSize(1);
        assertThat(claimed).hasSize(2); // and the one that was free
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
                .isInstanceOf(IllegalArgumentException.class); // dead events
    }

    // ---- errors and audit records ----

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

    // ---- changing ----

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
        assertThat(rows.count("attempts = 9")).isEqualTo(2); // the claimed one, and the one that was not named
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
        assertThat(headersOf("plain")).isEqualTo(Map.of(Replay.HEADER, "r1", Replay.TO_HEADER, "crm"));
        assertThat(headersOf("traced")).isEqualTo(Map.of("trace", "ü-1", Replay.HEADER, "r1", Replay.TO_HEADER, "crm"));
        assertThat(admin.find("unreadable").orElseThrow().event().headersJson()).isEqualTo("not json");
        assertThat(admin.audit("r1").orElseThrow().selection())
                .isEqualTo("DEAD events, at most 1000, to listener 'crm'");

        rows.execute("UPDATE %s SET status = 3");
        admin.replay(request(EventFilter.all()).requestId("r2").build());

        assertThat(headersOf("traced")).isEqualTo(Map.of("trace", "ü-1", Replay.HEADER, "r2"));
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
            store.claim(connection, new Claim("old", Long.MAX_VALUE), now, now, Duration.ZERO, 1);
            return store.mark(connection, List.of(Mark.dead("it", "old", true, "boom")), now);
        });

        admin.replay(request(EventFilter.all()).build());
        var marked =
                rows.in(connection -> store.mark(connection, List.of(Mark.done("it", "old")), store.now(connection)));

        assertThat(marked).isEmpty();
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(1);
    }

    @Test
    void the_cap_leaves_the_younger_events_and_says_so() {
        rows.given("older", 2, EventStatus.DEAD);
        rows.given("dead", 3, EventStatus.DEAD);
        rows.execute("UPDATE %s SET created_at = ? WHERE event_id LIKE 'older%%'", DAY);

        AdminResult result = admin.discard(request(EventFilter.all()).cap(2).build());

        assertThat(result.matched()).isEqualTo(5);
        assertThat(result.affected()).isEqualTo(2);
        assertThat(rows.count("event_id < 'older'")).isEqualTo(3);
    }

    @Test
    void a_repeated_request_changes_nothing_and_answers_what_the_first_did() {
        rows.given("dead", 3, EventStatus.DEAD);
        AdminRequest request = request(EventFilter.all()).requestId("ticket-1").build();

        AdminResult first = admin.replay(request);
        rows.execute("UPDATE %s SET status = 3");
        AdminResult second = admin.replay(request);

        assertThat(first).isEqualTo(new AdminResult("ticket-1", AdminAction.REPLAY, false, 3, 3, true, false));
        assertThat(second).isEqualTo(new AdminResult("ticket-1", AdminAction.REPLAY, false, 3, 3, true, true));
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(3);
        assertThat(audits()).isEqualTo(1);
    }

    @Test
    void a_request_id_that_was_used_for_something_else_is_refused() {
        rows.given("dead", 3, EventStatus.DEAD);
        admin.replay(request(EventFilter.ids(List.of("dead-0000")))
                .requestId("ticket-1")
                .build());

        assertThatThrownBy(() -> admin.discard(request(EventFilter.ids(List.of("dead-0000")))
                        .requestId("ticket-1")
                        .build()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("requestId ticket-1", "REPLAY", "dead-0000");
        assertThatThrownBy(() -> admin.replay(
                        request(EventFilter.all()).requestId("ticket-1").build()))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(2);
    }

    @Test
    void of_two_operators_with_the_same_request_one_does_it_and_both_learn_what_was_done() throws Exception {
        rows.given("dead", 40, EventStatus.DEAD);
        AdminRequest request = request(EventFilter.all()).build();
        CyclicBarrier together = new CyclicBarrier(2);
        Callable<AdminResult> operator = () -> {
            together.await();
            return adminOf(TABLE).replay(request);
        };

        ExecutorService operators = Executors.newFixedThreadPool(2);
        List<AdminResult> results = new ArrayList<>();
        for (Future<AdminResult> result : operators.invokeAll(List.of(operator, operator))) {
            results.add(result.get());
        }
        operators.shutdown();

        assertThat(results).extracting(AdminResult::affected).containsExactly(40L, 40L);
        assertThat(results).extracting(AdminResult::repeated).containsExactlyInAnyOrder(false, true);
        assertThat(audits()).isEqualTo(1);
    }

    @Test
    void an_event_that_dies_again_during_the_request_is_not_replayed_again() {
        rows.given("dead", 1200, EventStatus.DEAD);
        ConnectionProvider redying = () -> {
            rows.execute("UPDATE %s SET status = 3 WHERE status = 0");
            return dataSource().getConnection();
        };

        AdminResult result = new OutboxAdmin(redying, store(TABLE))
                .replay(request(EventFilter.all()).cap(5000).build());

        assertThat(result.affected()).isEqualTo(1200);
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(200); // the last batch
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(1000);
    }

    @Test
    void an_event_that_is_no_longer_dead_when_its_turn_comes_is_left_alone() {
        rows.given("dead", 600, EventStatus.DEAD);
        AtomicInteger calls = new AtomicInteger();
        ConnectionProvider overtaken = () -> {
            if (calls.incrementAndGet() == 3) {
                rows.execute("UPDATE %s SET status = 1 WHERE status = 3");
            }
            return dataSource().getConnection();
        };

        AdminResult result = new OutboxAdmin(overtaken, store(TABLE))
                .replay(request(EventFilter.all()).build());

        assertThat(result.matched()).isEqualTo(600);
        assertThat(result.affected()).isEqualTo(500);
        assertThat(result.complete()).isTrue();
        assertThat(rows.count(EventStatus.DONE)).isEqualTo(100);
    }

    @Test
    void a_request_does_not_wait_for_a_business_transaction() throws SQLException {
        rows.given("dead", 20, EventStatus.DEAD);
        try (Connection business = dataSource().getConnection()) {
            business.setAutoCommit(false);
            store(TABLE).insertNew(business, OutboxRows.event("a-still-open").build());
            long start = System.nanoTime();

            AdminResult replay = admin.replay(request(EventFilter.all()).cap(10).build());
            AdminResult skip = admin.skip(request(EventFilter.all()).build());
            AdminResult discard = admin.discard(request(EventFilter.all()).build());

            assertThat(skip.affected()).isZero(); // they have no aggregate
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
            assertThat(replay.affected()).isEqualTo(10);
            assertThat(discard.affected()).isEqualTo(10);
            business.rollback();
        }
    }

    @Test
    void no_transaction_changes_more_than_500_events() {
        rows.given("dead", 1001, EventStatus.DEAD);
        AtomicInteger transactions = new AtomicInteger();
        List<Long> dead = new ArrayList<>();
        ConnectionProvider counting = () -> {
            transactions.incrementAndGet();
            dead.add(rows.count(EventStatus.DEAD));
            return dataSource().getConnection();
        };

        new OutboxAdmin(counting, store(TABLE))
                .discard(request(EventFilter.all()).cap(2000).build());

        assertThat(dead).containsExactly(1001L, 1001L, 501L, 1L);
        assertThat(rows.count(EventStatus.DEAD)).isZero();
    }

    @Test
    void a_database_lost_midway_is_an_error_with_the_number_of_events_changed_so_far() {
        rows.given("dead", 600, EventStatus.DEAD);
        AdminRequest request = request(EventFilter.all()).requestId("ticket-1").build();
        OutboxAdmin broken = new OutboxAdmin(failingAtCall(3), store(TABLE));

        AdminRequestFailedException failure =
                catchThrowableOfType(AdminRequestFailedException.class, () -> broken.replay(request));

        assertThat(failure.affected()).isEqualTo(500);
        assertThat(failure.requestId()).isEqualTo("ticket-1");
        assertThat(failure).hasMessageContaining("after 500 events");
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(500);
        AdminResult again = admin.replay(request);
        assertThat(again).isEqualTo(new AdminResult("ticket-1", AdminAction.REPLAY, false, 600, 500, false, true));
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(500);
    }

    @Test
    void a_request_that_failed_goes_on_under_its_id_and_changes_no_event_twice() {
        rows.given("dead", 1200, EventStatus.DEAD);
        rows.execute("UPDATE %s SET done_at = ?", DAY);
        AdminRequest.Builder request =
                request(EventFilter.all()).requestId("ticket-1").cap(1100);
        OutboxAdmin broken = new OutboxAdmin(failingAtCall(4), store(TABLE));
        assertThatThrownBy(() -> broken.replay(request.build())).isInstanceOf(AdminRequestFailedException.class);
        rows.execute("UPDATE %s SET status = 3, done_at = ? WHERE event_id = 'dead-0000'", FAR); // it died again

        AdminResult goneOn = admin.replay(request.continuing(true).build());

        assertThat(goneOn).isEqualTo(new AdminResult("ticket-1", AdminAction.REPLAY, false, 1200, 1100, true, false));
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(1099);
        assertThat(admin.replay(request.build()).repeated()).isTrue(); // it is finished now
    }

    @Test
    void a_request_that_is_stopped_ends_between_two_batches_and_says_so() {
        rows.given("dead", 1200, EventStatus.DEAD);

        AdminResult stopped = admin.discard(
                request(EventFilter.all()).cap(2000).stopWhen(() -> true).build());

        assertThat(stopped.complete()).isFalse();
        assertThat(stopped.affected()).isEqualTo(500);
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(700);
    }

    @Test
    void a_database_that_is_down_is_never_an_answer_of_zero() {
        OutboxAdmin broken = new OutboxAdmin(failingAtCall(1), store(TABLE));

        assertThatThrownBy(() -> broken.replay(request(EventFilter.all()).build()))
                .isInstanceOf(OutboxException.class);
        assertThatThrownBy(broken::statistics).isInstanceOf(OutboxException.class);
    }

    private ConnectionProvider failingAtCall(int first) {
        AtomicInteger calls = new AtomicInteger();
        return () -> {
            if (calls.incrementAndGet() >= first) {
                throw new SQLTransientConnectionException("no route to the database", "08001");
            }
            return dataSource().getConnection();
        };
    }

    @Test
    void events_whose_change_cannot_be_recorded_stay_as_they_are() {
        rows.given("dead", 600, EventStatus.DEAD);
        AtomicInteger calls = new AtomicInteger();
        ConnectionProvider sabotaged = () -> {
            if (calls.incrementAndGet() == 3) {
                rows.execute("DROP TABLE outbox_audit");
            }
            return dataSource().getConnection();
        };

        AdminRequestFailedException failure = catchThrowableOfType(
                AdminRequestFailedException.class,
                () -> new OutboxAdmin(sabotaged, store(TABLE))
                        .discard(request(EventFilter.all()).build()));

        assertThat(failure.affected()).isEqualTo(500);
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(100);
    }

    // ---- the record ----

    @Test
    void the_record_says_who_did_what_to_which_events_and_why() {
        rows.given("dead", 2, EventStatus.DEAD);
        EventFilter filter =
                EventFilter.builder().eventType("test").aggregateType("GLOBAL_").build();

        AdminResult none = admin.replay(request(filter).build());
        AdminResult result =
                admin.discard(request(EventFilter.builder().eventType("test").build())
                        .actor("Ada")
                        .reason("ticket 7: doppelt 😀")
                        .build());

        AuditEntry entry = admin.audit(result.requestId()).orElseThrow();
        assertThat(none.affected()).isZero();
        assertThat(result.requestId()).hasSize(26);
        assertThat(entry.action()).isEqualTo(AdminAction.DISCARD);
        assertThat(entry.actor()).isEqualTo("Ada");
        assertThat(entry.reason()).isEqualTo("ticket 7: doppelt 😀");
        assertThat(entry.selection()).isEqualTo("DEAD events of type 'test', at most 1000");
        assertThat(entry.affected()).isEqualTo(2);
        assertThat(entry.finishedAt()).isAfterOrEqualTo(entry.startedAt());
        assertThat(entry.startedAt())
                .isBetween(
                        admin.statistics().at().minusSeconds(60),
                        admin.statistics().at());
    }

    @Test
    void a_selection_longer_than_its_column_is_cut() {
        List<String> ids =
                IntStream.range(0, 1000).mapToObj(i -> "ünbekannt-" + i).toList();
        AdminRequest request = request(EventFilter.ids(ids)).build();

        AdminResult result = admin.replay(request);

        assertThat(admin.audit(result.requestId()).orElseThrow().selection())
                .hasSize(AuditEntry.MAX_SELECTION_LENGTH)
                .startsWith("DEAD events with 1000 ids: 'ünbekannt-0', ")
                .endsWith("…");
        assertThat(admin.replay(request).repeated()).isTrue();
    }

    // ---- order ----

    @Test
    void a_skipped_event_blocks_its_aggregate_no_longer_and_is_skipped_once() {
        List<String> dead = givenDeadOfOneAggregate(3);
        rows.given("without-aggregate", 1, EventStatus.DEAD);
        rows.given("new", 1, EventStatus.NEW);

        AdminResult dryRun =
                admin.skip(request(EventFilter.all()).confirmed(false).build());
        assertThat(dryRun.affected()).isEqualTo(3);
        assertThat(admin.blockedAggregates(10))
                .extracting(BlockedAggregate::eventId)
                .containsExactly(dead.get(0));

        AdminResult first = admin.skip(request(EventFilter.all()).cap(1).build());
        assertThat(first.action()).isEqualTo(AdminAction.SKIP);
        assertThat(first.matched()).isEqualTo(3);
        assertThat(first.affected()).isEqualTo(1);
        assertThat(admin.blockedAggregates(10))
                .extracting(BlockedAggregate::eventId)
                .containsExactly(dead.get(1));

        AdminRequest rest = request(EventFilter.all()).build();
        assertThat(admin.skip(rest).affected()).isEqualTo(2);
        assertThat(admin.skip(rest).repeated()).isTrue();
        assertThat(admin.blockedAggregates(1000)).isEmpty();
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(4);
        AuditEntry record = admin.audit(rest.requestId()).orElseThrow();
        assertThat(record.action()).isEqualTo(AdminAction.SKIP);
        assertThat(record.affected()).isEqualTo(2);
        assertThatThrownBy(() -> admin.discard(rest)).isInstanceOf(IllegalArgumentException.class);
    }

    private List<String> givenDeadOfOneAggregate(int count) {
        List<String> ids = rows.given("dead", count, EventStatus.DEAD);
        rows.execute("UPDATE %s SET aggregate_type = 'Order', aggregate_id = '7' WHERE event_id LIKE 'dead-%%'");
        return ids;
    }

    @Test
    void blocked_aggregates_are_shown_within_a_bound() {
        for (int limit : new int[] {0, 1001}) {
            assertThatThrownBy(() -> admin.blockedAggregates(limit))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("limit");
        }
        assertThat(admin.blockedAggregates(1)).isEmpty();
    }

    @Test
    void a_table_without_numbers_has_no_order_and_says_what_is_missing() {
        givenTableOfTheSpecification();
        OutboxAdmin admin = adminOf(SPECIFICATION_TABLE);
        AdminRequest request = request(EventFilter.all()).build();

        assertThatThrownBy(() -> admin.blockedAggregates(10))
                .isInstanceOf(OutboxException.class)
                .hasMessageContainingAll(SPECIFICATION_TABLE, "V2__outbox_order.sql");
        assertThatThrownBy(() -> admin.skip(request))
                .isInstanceOf(OutboxException.class)
                .hasMessageContainingAll(SPECIFICATION_TABLE, "V2__outbox_order.sql");
    }

    // ---- a table of the specification, and nothing else ----

    @Test
    void without_an_audit_table_one_can_look_but_not_change() throws SQLException {
        givenTableOfTheSpecification();
        OutboxRows rows = rowsOf(SPECIFICATION_TABLE);
        OutboxAdmin admin = adminOf(SPECIFICATION_TABLE);
        rows.given("dead", 2, EventStatus.DEAD);

        assertThat(admin.statistics().byStatus()).containsEntry(EventStatus.DEAD, 2L);
        assertThat(admin.find("dead-0000")).isPresent();
        assertThat(admin.find(EventQuery.of(EventFilter.all())).events()).hasSize(2);
        for (boolean confirmed : new boolean[] {false, true}) {
            AdminRequest request =
                    request(EventFilter.all()).confirmed(confirmed).build();
            assertThatThrownBy(() -> admin.replay(request))
                    .isInstanceOf(OutboxException.class)
                    .hasMessageContainingAll("outbox_audit", "V1__outbox_event.sql");
            assertThatThrownBy(() -> admin.discard(request))
                    .isInstanceOf(OutboxException.class)
                    .hasMessageContainingAll("outbox_audit", "V1__outbox_event.sql");
        }
        assertThat(rows.count(EventStatus.DEAD)).isEqualTo(2);
    }

    @Test
    void a_code_that_is_no_status_is_counted_and_shown() {
        givenTableOfTheSpecification();
        OutboxRows rows = rowsOf(SPECIFICATION_TABLE);
        OutboxAdmin admin = adminOf(SPECIFICATION_TABLE);
        rows.given("event", 3, EventStatus.NEW);
        rows.execute("UPDATE %s SET status = 99 WHERE event_id = 'event-0002'");

        assertThat(admin.statistics().unknownStatus()).isEqualTo(1);
        assertThat(admin.statistics().byStatus()).containsEntry(EventStatus.NEW, 2L);
        EventSummary event = admin.find("event-0002").orElseThrow().summary();
        assertThat(event.status()).isEmpty();
        assertThat(event.statusCode()).isEqualTo(99);
        assertThat(admin.find(EventQuery.of(EventFilter.all())).events()).hasSize(3);
    }

    private void givenTableOfTheSpecification() {
        rows.execute("DROP TABLE outbox_audit");
        rows.execute("""
                CREATE TABLE spec_outbox (
                    event_id VARCHAR(36) NOT NULL PRIMARY KEY, event_type VARCHAR(128) NOT NULL,
                    aggregate_type VARCHAR(64), aggregate_id VARCHAR(128), tenant_id VARCHAR(64),
                    payload TEXT NOT NULL, headers TEXT, status SMALLINT NOT NULL, attempts INT NOT NULL DEFAULT 0,
                    available_at TIMESTAMP(6) NOT NULL, created_at TIMESTAMP(6) NOT NULL, done_at TIMESTAMP(6) NULL,
                    last_error TEXT, locked_by VARCHAR(128), locked_at TIMESTAMP(6) NULL)
                """);
    }

    private long audits() {
        return rows.number("SELECT COUNT(*) FROM outbox_audit");
    }

    private static AdminRequest.Builder request(EventFilter filter) {
        return AdminRequest.builder()
                .filter(filter)
                .actor("operator")
                .reason("test")
                .confirmed(true);
    }
}
