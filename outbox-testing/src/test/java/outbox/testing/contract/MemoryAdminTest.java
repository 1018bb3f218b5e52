package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventAdministration;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** An operator and events in memory; the contract for tables arranges its rows by SQL. */
class MemoryAdminTest {

    private final StoreFixture db = MemoryFixture.create();
    private final LeasingEventStore store = db.store();
    private final EventAdministration administration = EventAdministration.of(store);
    private final OutboxAdmin admin = new OutboxAdmin(db.dataSource()::getConnection, store);

    private void given(String prefix, int count, String type, EventStatus status) {
        for (int i = 0; i < count; i++) {
            String id = "%s-%03d".formatted(prefix, i);
            db.insert(EventEnvelope.builder(type).eventId(id).payloadJson("{}").build());
            db.inTransaction(connection -> {
                if (status == EventStatus.DEAD) {
                    store.markDead(connection, id, "broker down 100%");
                } else if (status == EventStatus.DONE) {
                    store.markDone(connection, id);
                }
            });
        }
    }

    private static AdminRequest.Builder request(EventFilter filter) {
        return AdminRequest.builder().actor("ada").reason("ticket 17").filter(filter);
    }

    @Test
    void a_search_goes_page_by_page_in_either_order() {
        given("event", 25, "T", EventStatus.NEW);

        for (EventQuery.Order order : EventQuery.Order.values()) {
            List<String> ids = new ArrayList<>();
            EventQuery query = EventQuery.builder().order(order).pageSize(10).build();
            EventQuery.Page page = admin.find(query);
            while (!page.events().isEmpty()) {
                page.events().forEach(event -> ids.add(event.eventId()));
                EventSummary last = page.events().get(page.events().size() - 1);
                page = admin.find(query.after(last.cursor()));
            }
            assertThat(ids).hasSize(25).doesNotHaveDuplicates();
            assertThat(ids.get(0)).isEqualTo(order == EventQuery.Order.OLDEST_FIRST ? "event-000" : "event-024");
        }
    }

    @Test
    void filters_and_counts_say_what_is_there() {
        given("new", 3, "A", EventStatus.NEW);
        given("dead", 2, "B", EventStatus.DEAD);
        given("done", 1, "B", EventStatus.DONE);

        assertThat(count(EventFilter.builder().status(EventStatus.DEAD).build()))
                .isEqualTo(2);
        assertThat(count(EventFilter.builder().eventType("B").build())).isEqualTo(3);
        assertThat(count(EventFilter.builder().errorContains("100%").build())).isEqualTo(2);
        assertThat(count(EventFilter.builder().errorContains("1_0").build())).isZero();
        assertThat(count(EventFilter.builder().createdBefore(Instant.EPOCH).build()))
                .isZero();
        assertThat(admin.backlog().pending()).isEqualTo(3);
        assertThat(admin.backlog().oldestPendingAge()).isNotNull();
    }

    private long count(EventFilter filter) {
        return db.call(connection -> administration.count(connection, filter));
    }

    @Test
    void a_replay_is_recorded_happens_once_and_marks_its_events() {
        given("dead", 2, "T", EventStatus.DEAD);
        AdminRequest replay = request(EventFilter.builder().eventType("T").build())
                .requestId("r1")
                .confirmed(true)
                .cap(10)
                .build();

        AdminResult result = admin.replay(replay);

        assertThat(result.affected()).isEqualTo(2);
        assertThat(admin.replay(replay).repeated()).isTrue();
        assertThat(admin.audit("r1").orElseThrow().affected()).isEqualTo(2);
        assertThat(admin.find("dead-000").orElseThrow().headers()).containsEntry(EventHeaders.REPLAY, "r1");
        assertThat(admin.backlog().pending()).isEqualTo(2);
    }

    @Test
    void what_a_request_did_is_taken_back_with_its_transaction() throws SQLException {
        given("dead", 1, "T", EventStatus.DEAD);

        try (Connection connection = db.open()) {
            assertThat(administration.discard(connection, List.of("dead-000"))).isEqualTo(1);
            assertThat(administration.find(connection, "dead-000")).isEmpty();
            assertThat(admin.find("dead-000")).isPresent();
            connection.rollback();
        }

        assertThat(admin.find("dead-000")).isPresent();
    }

    @Test
    void only_finished_events_are_purged() {
        given("new", 1, "T", EventStatus.NEW);
        given("done", 5, "T", EventStatus.DONE);
        Instant later = db.now().plusSeconds(1);

        assertThat(db.<Integer>call(connection -> administration.purge(connection, EventStatus.DONE, later, 3)))
                .isEqualTo(3);
        assertThat(db.<Integer>call(connection -> administration.purge(connection, EventStatus.DONE, later, 3)))
                .isEqualTo(2);
        assertThat(db.count("1 = 1")).isEqualTo(1);
        assertThatThrownBy(() -> db.call(connection -> administration.purge(connection, EventStatus.NEW, later, 3)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
