package outbox.admin;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.admin.EventAdministration.Replay;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.spi.EventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class AdminSettingsTest {

    private static final Instant DAY = Instant.parse("2026-03-01T12:00:00Z");

    @Test
    void a_request_needs_a_filter_an_actor_and_a_reason() {
        refused("filter", () -> AdminRequest.builder().actor("a").reason("r").build());
        refused(
                "actor",
                () -> AdminRequest.builder()
                        .filter(EventFilter.all())
                        .reason("r")
                        .build());
        refused(
                "reason",
                () -> AdminRequest.builder()
                        .filter(EventFilter.all())
                        .actor("a")
                        .build());
        refused("actor", () -> AdminRequest.builder().actor("  "));
        refused("actor", () -> AdminRequest.builder().actor("a".repeat(129)));
        refused("reason", () -> AdminRequest.builder().reason("forged\nline"));
        refused("reason", () -> AdminRequest.builder().reason("r".repeat(1001)));
    }

    @Test
    void a_request_id_is_generated_unless_a_proper_one_is_given() {
        AdminRequest request = AdminRequest.builder()
                .filter(EventFilter.all())
                .actor("a")
                .reason("r")
                .build();

        assertThat(request.requestId()).matches("[0-9A-Z]{26}");
        assertThat(request.isConfirmed()).isFalse();
        assertThat(request.cap()).isEqualTo(1000);
        refused("requestId", () -> AdminRequest.builder().requestId(""));
        refused("requestId", () -> AdminRequest.builder().requestId("with space "));
        refused("requestId", () -> AdminRequest.builder().requestId("x".repeat(65)));
    }

    @Test
    void a_request_is_capped() {
        refused("cap", () -> AdminRequest.builder().cap(0));
        refused("cap", () -> AdminRequest.builder().cap(100_001));
    }

    @Test
    void a_request_for_events_that_are_not_finished_is_refused() {
        refused(
                "filter",
                () -> AdminRequest.builder()
                        .filter(EventFilter.builder()
                                .status(EventStatus.DEAD, EventStatus.RETRY)
                                .build()));
    }

    @Test
    void the_rate_and_the_listener_of_a_replay_are_checked() {
        refused("eventsPerSecond", () -> AdminRequest.builder().eventsPerSecond(0));
        refused("eventsPerSecond", () -> AdminRequest.builder().eventsPerSecond(100_001));
        refused("toListener", () -> AdminRequest.builder().toListener(" "));
        refused("errorContains", () -> EventFilter.builder().errorContains("x".repeat(81)));
    }

    @Test
    void a_replay_is_no_faster_than_its_rate() {
        AdminRequest request = AdminRequest.builder()
                .filter(EventFilter.all())
                .actor("a")
                .reason("r")
                .eventsPerSecond(3)
                .build();

        Replay second = request.replay(DAY, 500);

        assertThat(second.step()).isEqualTo(Duration.ofNanos(333_334_000));
        assertThat(second.firstDue()).isEqualTo(DAY.plusNanos(500 * 333_334_000L));
        assertThat(second.dueAt(2)).isEqualTo(DAY.plusNanos(502 * 333_334_000L));
        assertThat(second.from()).containsExactly(EventStatus.DEAD);
    }

    @Test
    void an_event_that_was_never_tried_cannot_be_replayed() {
        refused("NEW", () -> new Replay("r", Set.of(EventStatus.NEW), null, DAY, Duration.ZERO));
        refused("step", () -> new Replay("r", Set.of(EventStatus.DONE), null, DAY, Duration.ofMillis(-1)));
    }

    @Test
    void a_filter_says_what_it_is_for() {
        refused("EventFilter.all()", () -> EventFilter.builder().build());
        refused("eventIds", () -> EventFilter.ids(List.of()));
        refused(
                "eventIds",
                () -> EventFilter.ids(
                        IntStream.range(0, 1001).mapToObj(Integer::toString).toList()));
        refused("eventType", () -> EventFilter.builder().eventType("nul\0"));
        refused("aggregateId", () -> EventFilter.builder().aggregateId("lone\ud800"));
        refused("createdFrom", () -> EventFilter.builder().createdFrom(Instant.MAX));
        refused(
                "createdBefore",
                () -> EventFilter.builder().createdFrom(DAY).createdBefore(DAY).build());
    }

    @Test
    void a_filter_in_words_names_every_condition() {
        EventFilter filter = EventFilter.builder()
                .status(EventStatus.RETRY, EventStatus.NEW)
                .eventType("order.placed")
                .aggregateType("Order")
                .aggregateId("7\n8")
                .createdFrom(DAY)
                .createdBefore(DAY.plusSeconds(1))
                .eventIds(List.of("b", "a"))
                .build();

        assertThat(filter)
                .hasToString(
                        "NEW or RETRY events of type 'order.placed' of aggregate type 'Order' of aggregate '7\\n8'"
                                + " created from 2026-03-01T12:00:00Z created before 2026-03-01T12:00:01Z with 2 ids: 'a', 'b'");
        assertThat(EventFilter.all()).hasToString("all events");
    }

    @Test
    void a_page_is_bounded() {
        refused("pageSize", () -> EventQuery.builder().pageSize(0));
        refused("pageSize", () -> EventQuery.builder().pageSize(1001));
    }

    @Test
    void a_cursor_survives_as_text() {
        EventQuery.Cursor cursor = new EventQuery.Cursor(DAY.plusNanos(123_456_000), "a/b-1");

        assertThat(EventQuery.Cursor.parse(cursor.text())).isEqualTo(cursor);
        for (String wrong : List.of("", "x", "/", "/id", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z/")) {
            assertThatThrownBy(() -> EventQuery.Cursor.parse(wrong))
                    .describedAs(wrong)
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void a_store_that_cannot_be_administered_is_refused() {
        refused(
                "outbox.admin.EventAdministration",
                () -> new OutboxAdmin(
                        () -> {
                            throw new SQLException("not needed");
                        },
                        new PlainStore()));
    }

    private static void refused(String named, Runnable setting) {
        assertThatThrownBy(setting::run)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(named);
    }

    /** A store that implements only the methods of the specification. */
    private static final class PlainStore implements EventStore {

        @Override
        public void insertNew(Connection conn, EventEnvelope event) {}

        @Override
        public int markDone(Connection conn, String eventId) {
            return 0;
        }

        @Override
        public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
            return 0;
        }

        @Override
        public int markDead(Connection conn, String eventId, String error) {
            return 0;
        }

        @Override
        public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
            return Collections.emptyList();
        }
    }
}
