package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.Experimental;
import outbox.OutboxException;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.AuditEntry;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.spi.EventOrder.BlockedAggregate;

import java.sql.SQLException;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Contract tests for the admin operations, the same for every database. A subclass supplies the database and
 * its store.
 */
@Experimental
public abstract class AdminContract extends AdminRequestContract {

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

    // ---- a table with only the columns of the specification ----

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
}
