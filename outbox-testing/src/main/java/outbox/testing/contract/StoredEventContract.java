package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.spi.ClaimedEvent;
import outbox.spi.Mark;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TimeZone;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Contract tests for stored values, due times, and the operations of the specification. */
abstract class StoredEventContract extends StoreContract {

    // ---- an event is delivered as it was written ----

    @Test
    void an_event_comes_back_as_it_was_written() {
        EventEnvelope.Builder parts = event("OrderPlaced")
                .occurredAt(Instant.parse("2500-02-28T23:59:59.123456Z"))
                .payloadJson("{\"id\": 7}");
        if (keepsAggregates()) {
            parts.aggregateType("Order").aggregateId("order-7");
        }
        if (keepsTenants()) {
            parts.tenantId("tenant-1");
        }
        if (keepsHeaders()) {
            parts.header("b", "2").header("a", "first \"quoted\"\n\\ line ✓ 🎉").header("empty", "");
        }
        EventEnvelope event = parts.build();
        db.insert(event);

        EventEnvelope restored = EventEnvelope.restore(claimAll().get(0).event());

        if (keepsHeaders()) {
            assertThat(restored.headers()).isEqualTo(event.headers());
        }
        assertThat(restored.eventId()).isEqualTo(event.eventId());
        assertThat(restored.aggregateType()).isEqualTo(event.aggregateType());
        assertThat(restored.aggregateId()).isEqualTo(event.aggregateId());
        assertThat(restored.tenantId()).isEqualTo(event.tenantId());
        if (keepsTextVerbatim() && keepsHeaders()) {
            assertThat(List.copyOf(restored.headers().keySet())).containsExactly("b", "a", "empty");
        }
        if (keepsOccurredAt()) {
            assertThat(restored.occurredAt()).isEqualTo(event.occurredAt());
            if (keepsTextVerbatim()) {
                assertThat(restored).isEqualTo(event);
            }
        } else {
            assertThat(Duration.between(restored.occurredAt(), db.now()).abs()).isLessThan(Duration.ofMinutes(1));
        }
    }

    @Test
    void version_correlation_and_causation_are_kept_or_refused_by_name() {
        EventEnvelope event = event("T")
                .schemaVersion(3)
                .correlationId("request ✓")
                .causationId("event-1")
                .payloadJson("{}")
                .build();
        if (!keepsHeaders()) {
            assertThatThrownBy(() -> db.insert(event)).hasMessageContaining("HEADERS");
            assertThat(claimAll()).isEmpty();
            return;
        }
        db.insert(event);

        EventEnvelope restored = EventEnvelope.restore(claimAll().get(0).event());

        assertThat(restored.schemaVersion()).isEqualTo(3);
        assertThat(restored.correlationId()).isEqualTo("request ✓");
        assertThat(restored.causationId()).isEqualTo("event-1");
    }

    @Test
    void a_payload_keeps_every_character() {
        List<String> payloads = List.of(
                "{\"b\":1,\"a\":2,\"a\":3}",
                "{ \"spaced\" : \"out\" }",
                "{\"nul\":\"\\u0000\"}",
                "{\"big\":1e400,\"long\":9007199254740993,\"cents\":1.10,\"minus\":-0}",
                "{\"text\":\"Grüße, 你好, 🎉, \\u2028\"}",
                "[".repeat(20_000) + "]".repeat(20_000));
        if (!keepsTextVerbatim()) {
            EventEnvelope event = json("{ \"a\" : \"🎉\" }");
            db.insert(event);
            assertThat(claimAll().get(0).event().payloadJson().replace(" ", "")).isEqualTo("{\"a\":\"🎉\"}");
            return;
        }
        List<EventEnvelope> events = payloads.stream().map(this::json).toList();
        db.insert(events);

        Map<String, String> restored = claimAll().stream()
                .map(ClaimedEvent::event)
                .collect(Collectors.toMap(OutboxEvent::eventId, OutboxEvent::payloadJson));

        events.forEach(event -> assertThat(restored.get(event.eventId())).isEqualTo(event.payloadJson()));
    }

    @Test
    void payloads_of_no_byte_and_of_the_largest_size_are_kept() {
        String largest = "\"" + "x".repeat(largestPayload() - 2) + "\"";
        EventEnvelope large = json(largest);
        db.insert(large);

        assertThat(claimAll().get(0).event().payloadJson()).isEqualTo(largest);

        if (keepsTextVerbatim()) {
            EventEnvelope empty = json("");
            db.insert(empty);
            assertThat(claimAll().get(0).event().payloadJson()).isEmpty();
        }
    }

    @Test
    void a_payload_of_any_bytes_is_kept_or_refused_before_any_sql() {
        byte[] bytes = new byte[10_000];
        new Random(7).nextBytes(bytes);
        EventEnvelope event = event("T").payloadBytes(bytes).build();

        if (keepsBytes()) {
            db.insert(event);
            EventEnvelope restored = EventEnvelope.restore(claimAll().get(0).event());
            assertThat(restored.payloadBytes()).isEqualTo(bytes);
            assertThat(restored.isBinary()).isTrue();
        } else {
            db.inTransaction(connection -> {
                assertThatThrownBy(() -> store.insertNew(connection, event))
                        .isInstanceOf(InvalidEventException.class)
                        .hasMessageContaining("payload_bytes");
                store.insertNew(connection, json("{}"));
            });
            assertThat(claimAll()).hasSize(1);
        }
    }

    @Test
    void bytes_that_are_text_come_back_as_the_same_bytes_on_any_table() {
        byte[] bytes = "{\"a\":\"ü\"}".getBytes(StandardCharsets.UTF_8);
        db.insert(event("T").payloadBytes(bytes).build());

        byte[] restored = EventEnvelope.restore(claimAll().get(0).event()).payloadBytes();

        assertThat(new String(restored, StandardCharsets.UTF_8).replace(" ", ""))
                .isEqualTo("{\"a\":\"ü\"}");
    }

    // ---- writing ----

    @Test
    void an_event_of_a_rolled_back_transaction_does_not_exist() {
        db.rolledBack(connection -> store.insertNew(connection, json("{}")));

        assertThat(claimAll()).isEmpty();
    }

    @Test
    void a_transaction_sees_the_events_that_it_wrote_and_kept() throws SQLException {
        List<EventEnvelope> events = givenEvents(3);
        List<String> ids = events.stream().map(EventEnvelope::eventId).toList();
        try (Connection business = db.open()) {
            store.insertAll(business, events.subList(0, 2), null);
            assertThat(store.existing(business, ids)).containsExactlyInAnyOrder(ids.get(0), ids.get(1));
            db.inTransaction(other -> assertThat(store.existing(other, ids)).isEmpty());

            store.insertAll(business, events.subList(2, 3), null);
            business.rollback();
        }

        db.inTransaction(other -> assertThat(store.existing(other, ids)).isEmpty());
    }

    @Test
    void ten_thousand_events_are_inserted_in_one_call() {
        List<EventEnvelope> events = givenEvents(10_000);
        db.inTransaction(connection -> store.insertAll(connection, events, null));

        assertThat(db.count("1 = 1")).isEqualTo(10_000);
    }

    @Test
    void events_of_many_megabytes_are_inserted_in_one_call() {
        String large = "\"" + "x".repeat(Math.min(1_000_000, largestPayload() - 2)) + "\"";
        List<EventEnvelope> events =
                IntStream.range(0, 12).mapToObj(i -> json(large)).toList();
        db.inTransaction(connection -> store.insertAll(connection, events, null));

        assertThat(db.count("1 = 1")).isEqualTo(12);
    }

    @Test
    void events_with_many_megabytes_of_headers_are_inserted_in_one_call() {
        if (!keepsHeaders()) {
            EventEnvelope event = event("T").header("h", "1").payloadJson("{}").build();
            assertThatThrownBy(() -> db.insert(event)).hasMessageContaining("HEADERS");
            return;
        }
        String large = "h".repeat(60_000);
        List<EventEnvelope> events = IntStream.range(0, 300) // 18 MB: larger than a packet of MariaDB
                .mapToObj(
                        i -> event("T").header("large", large).payloadJson("{}").build())
                .toList();
        db.inTransaction(connection -> store.insertAll(connection, events, null));

        assertThat(db.count("1 = 1")).isEqualTo(300);
    }

    @Test
    void an_id_that_exists_is_refused_whole_and_the_transaction_goes_on() {
        List<EventEnvelope> events = givenEvents(1200);
        EventEnvelope existing = events.get(700);
        db.insert(existing);
        EventEnvelope other = json("{}");

        db.inTransaction(connection -> {
            assertThatThrownBy(() -> store.insertAll(connection, events, null))
                    .hasMessageContaining(existing.eventId());
            store.insertNew(connection, other);
        });

        assertThat(claimAll())
                .extracting(event -> event.event().eventId())
                .containsExactlyInAnyOrder(existing.eventId(), other.eventId());
    }

    @Test
    void two_transactions_that_write_the_same_id_leave_one_event() throws Exception {
        EventEnvelope event = json("{}");

        List<Boolean> won = inParallel(2, barrier -> {
            try {
                db.inTransaction(connection -> {
                    await(barrier);
                    store.insertNew(connection, event);
                });
                return true;
            } catch (RuntimeException e) {
                assertThat(e).hasMessageContaining(event.eventId());
                return false;
            }
        });

        assertThat(won).containsExactlyInAnyOrder(true, false);
        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @Test
    void ids_that_differ_in_case_are_different_events() {
        String lower = idWithLetters();
        db.insert(event("T").eventId(lower).payloadJson("{}").build());
        EventEnvelope upper = event("T")
                .eventId(lower.toUpperCase(Locale.ROOT))
                .payloadJson("{}")
                .build();

        if (comparesIdsByBytes()) {
            db.insert(upper);
            assertThat(claimAll()).hasSize(2);
        } else {
            assertThatThrownBy(() -> db.insert(upper)).hasMessageMatching("(?i).*" + lower + ".*");
            assertThat(claimAll()).hasSize(1);
        }
    }

    // ---- times ----

    @Test
    void an_event_is_due_as_soon_as_it_is_committed_whatever_its_occurred_at() {
        db.insert(event("T")
                .occurredAt(db.now().plus(1, ChronoUnit.HOURS))
                .payloadJson("{}")
                .build());
        db.insert(event("T")
                .occurredAt(Instant.parse("1999-12-31T23:59:59Z"))
                .payloadJson("{}")
                .build());

        assertThat(claimAll())
                .hasSize(2)
                .allSatisfy(event -> assertThat(Duration.between(event.event().createdAt(), db.now())
                                .abs())
                        .isLessThan(Duration.ofMinutes(1)));
    }

    @Test
    void times_do_not_depend_on_the_time_zone_of_the_jvm() {
        TimeZone before = TimeZone.getDefault();
        try {
            TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Kiritimati")); // UTC+14
            EventEnvelope event = event("T")
                    // as a local time, 01:30 does not exist in London on that day, because summer time begins
                    .occurredAt(Instant.parse("2026-03-29T01:30:00.000001Z"))
                    .payloadJson("{}")
                    .build();
            db.insert(event);
            Instant inserted = db.now();

            TimeZone.setDefault(TimeZone.getTimeZone("America/New_York"));
            List<ClaimedEvent> claimed = claimAll();

            assertThat(claimed).hasSize(1);
            assertThat(Duration.between(claimed.get(0).event().createdAt(), inserted)
                            .abs())
                    .isLessThan(Duration.ofMinutes(1));
            if (keepsOccurredAt()) {
                assertThat(EventEnvelope.restore(claimed.get(0).event()).occurredAt())
                        .isEqualTo(event.occurredAt());
            }
        } finally {
            TimeZone.setDefault(before);
        }
    }

    @Test
    void a_retry_waits_until_it_is_due_by_the_database_clock() {
        EventEnvelope event = givenClaimed(OURS);

        mark(Mark.retry(event.eventId(), OURS.token(), true, Duration.ofMinutes(10), "later"));

        assertThat(claimAll()).isEmpty();
        assertThat(claim(THEIRS, db.now().plus(Duration.ofMinutes(11)), 10)).hasSize(1);
    }

    // ---- the operations of the specification ----

    @Test
    void marking_done_by_id_is_idempotent_and_final() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(db.<Integer>call(connection -> store.markDone(connection, event.eventId())))
                .isEqualTo(1);
        assertThat(db.<Integer>call(connection -> store.markDone(connection, event.eventId())))
                .isZero();
        assertThat(db.<Integer>call(connection -> store.markRetry(connection, event.eventId(), db.now(), "no")))
                .isZero();
        assertThat(db.<Integer>call(connection -> store.markDead(connection, event.eventId(), "no")))
                .isZero();

        assertThat(db.row(event.eventId())).isEqualTo(new StoreFixture.Row(EventStatus.DONE, 0, null, null));
    }

    @Test
    void marking_retry_by_id_counts_the_attempt_and_frees_the_event() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(db.<Integer>call(connection -> store.markRetry(connection, event.eventId(), db.now(), "boom")))
                .isEqualTo(1);

        assertThat(db.row(event.eventId())).isEqualTo(row(EventStatus.RETRY, 1, "boom"));
    }

    @Test
    void marking_dead_by_id_frees_the_event() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(db.<Integer>call(connection -> store.markDead(connection, event.eventId(), "poison")))
                .isEqualTo(1);

        assertThat(db.row(event.eventId())).isEqualTo(row(EventStatus.DEAD, 0, "poison"));
    }

    @Test
    void polling_reads_due_events_oldest_first_without_taking_them() {
        List<EventEnvelope> events = givenEvents(5);
        events.forEach(db::insert);

        Instant now = db.now();
        List<OutboxEvent> first = db.call(connection -> store.pollPending(connection, now, Duration.ZERO, 3));
        List<OutboxEvent> again = db.call(connection -> store.pollPending(connection, now, Duration.ZERO, 3));
        List<OutboxEvent> recent = db.call(connection -> store.pollPending(connection, now, Duration.ofMinutes(1), 3));

        assertThat(first)
                .extracting(OutboxEvent::eventId)
                .containsExactlyElementsOf(events.subList(0, 3).stream()
                        .map(EventEnvelope::eventId)
                        .toList());
        assertThat(again)
                .extracting(OutboxEvent::eventId)
                .containsExactlyElementsOf(
                        first.stream().map(OutboxEvent::eventId).toList());
        assertThat(recent).isEmpty();
    }

    @Test
    void claiming_for_an_owner_locks_events_until_the_lock_expires() {
        db.insert(json("{}"));
        Instant now = db.now();

        assertThat(claimPending("a", now, now.minus(LEASE))).hasSize(1);
        assertThat(claimPending("b", now, now.minus(LEASE))).isEmpty();
        assertThat(claimPending("b", now.plus(LEASE), now.plusSeconds(1))).hasSize(1);
    }

    private List<OutboxEvent> claimPending(String owner, Instant now, Instant lockExpiry) {
        return db.call(connection -> store.claimPending(connection, owner, now, lockExpiry, Duration.ZERO, 10));
    }
}
