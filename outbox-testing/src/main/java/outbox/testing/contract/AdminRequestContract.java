package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.OutboxException;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequest;
import outbox.admin.AdminRequestFailedException;
import outbox.admin.AdminResult;
import outbox.admin.AuditEntry;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.spi.ConnectionProvider;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

/** Contract tests for the rules that hold for every change request: limit, repetition, failure, audit record. */
abstract class AdminRequestContract extends AdminActionContract {

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
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(200); // only the last batch; earlier ones died again
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

            assertThat(skip.affected()).isZero(); // the events have no aggregate
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
        // the event dies again
        rows.execute("UPDATE %s SET status = 3, done_at = ? WHERE event_id = 'dead-0000'", FAR);

        AdminResult goneOn = admin.replay(request.continuing(true).build());

        assertThat(goneOn).isEqualTo(new AdminResult("ticket-1", AdminAction.REPLAY, false, 1200, 1100, true, false));
        assertThat(rows.count(EventStatus.NEW)).isEqualTo(1099);
        assertThat(admin.replay(request.build()).repeated()).isTrue(); // the request is complete now
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
}
