package outbox.testing;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TimeZone;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * What every event store promises, as tests. A store passes by extending this class and naming its table; what a table cannot keep is declared by overriding {@link #keepsTextVerbatim()},
 * {@link #keepsOccurredAt()} or {@link #keepsBytes()}, and the contract then asserts what happens instead.
 *
 * <p>It is one class, long as it is, because it is one contract: a reader finds every promise of a store here.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class EventStoreContract {

    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final Claim OURS = new Claim("ours/1", Long.MAX_VALUE);
    private static final Claim THEIRS = new Claim("theirs/1", Long.MAX_VALUE);

    private StoreFixture db;
    private LeasingEventStore store;

    /** A fresh, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    /** Whether payloads come back as they were written, to the character; false for tables that keep them in a JSON type. */
    protected boolean keepsTextVerbatim() {
        return true;
    }

    /** Whether the table has a column for the time of the fact. */
    protected boolean keepsOccurredAt() {
        return true;
    }

    /** Whether the table has a column for payloads that are not text. */
    protected boolean keepsBytes() {
        return true;
    }

    /** An event that the table can keep: its parts, so far as the table demands them. */
    protected EventEnvelope.Builder event(String type) {
        return EventEnvelope.builder(type);
    }

    /** An id with letters in lower case. */
    protected String idWithLetters() {
        return "abc";
    }

    /** Whether an event may have any aggregate. */
    protected boolean keepsAggregates() {
        return true;
    }

    /** Whether an event may have any tenant. */
    protected boolean keepsTenants() {
        return true;
    }

    /** Whether the table has a column for headers. */
    protected boolean keepsHeaders() {
        return true;
    }

    /** Whether the table has a column for the last error. */
    protected boolean keepsErrors() {
        return true;
    }

    /** Whether the table keeps the time when an event became dead. */
    protected boolean keepsTimeOfDeath() {
        return true;
    }

    /** Whether an event can be claimed by the statement that inserts it. */
    protected boolean bearsLeased() {
        return true;
    }

    /**
     * Whether a transaction can lock a row of its own for as long as it likes; false for a store whose transactions
     * wait for each other.
     */
    protected boolean locksRows() {
        return true;
    }

    /** The largest payload in bytes. */
    protected int largestPayload() {
        return EventEnvelope.MAX_PAYLOAD_BYTES;
    }

    /** What the table says about the attempts of a dead event that had so many. */
    protected int attemptsOfDead(int attempts) {
        return attempts;
    }

    /** Whether ids that differ in case only are different ids. */
    protected boolean comparesIdsByBytes() {
        return true;
    }

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
    }

    // ---- what is written is what is delivered ----

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
        List<EventEnvelope> events = IntStream.range(0, 500)
                .mapToObj(
                        i -> event("T").header("large", large).payloadJson("{}").build())
                .toList();
        db.inTransaction(connection -> store.insertAll(connection, events, null));

        assertThat(db.count("1 = 1")).isEqualTo(500);
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
                    .occurredAt(Instant.parse("2026-03-29T01:30:00.000001Z")) // inside the gap of summer time in Europe
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

    // ---- claims ----

    @Test
    void a_claimed_event_is_nobody_elses_until_its_lease_runs_out() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(claim(THEIRS, db.now(), 10)).isEmpty();
        List<ClaimedEvent> later = claim(THEIRS, db.now().plus(LEASE).plusSeconds(5), 10);

        assertThat(later).extracting(claimed -> claimed.event().eventId()).containsExactly(event.eventId());
        assertThat(later.get(0).suspect()).isTrue();
    }

    @Test
    void an_event_that_was_given_back_is_free_at_once_and_no_suspect() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(db.<Integer>call(connection -> store.release(connection, OURS.token(), List.of(event.eventId()))))
                .isEqualTo(1);
        List<ClaimedEvent> claimed = claim(THEIRS, db.now(), 10);

        assertThat(claimed).hasSize(1);
        assertThat(claimed.get(0).suspect()).isFalse();
        assertThat(claimed.get(0).event().attempts()).isZero();
        assertThat(db.<Integer>call(connection -> store.release(connection, OURS.token(), List.of(event.eventId()))))
                .isZero();
    }

    @Test
    void a_suspect_that_was_given_back_can_be_claimed_at_once_and_stays_a_suspect() {
        EventEnvelope event = givenClaimed(OURS);
        claim(THEIRS, db.now().plus(LEASE).plusSeconds(5), 10);

        assertThat(releaseSuspects(OURS, event)).isZero();
        assertThat(releaseSuspects(THEIRS, event)).isEqualTo(1);

        if (bearsLeased()) { // so it keeps tokens, not only the time of a lock
            assertThat(db.row(event.eventId()).lockedBy()).isEqualTo(THEIRS.token());
        }
        List<ClaimedEvent> claimed = claim(OURS, db.now(), 10);
        assertThat(claimed).hasSize(1);
        assertThat(claimed.get(0).suspect()).isTrue();
        assertThat(claimed.get(0).event().attempts()).isZero();
    }

    private int releaseSuspects(Claim claim, EventEnvelope event) {
        return db.call(connection -> store.releaseSuspects(connection, claim.token(), List.of(event.eventId())));
    }

    @Test
    void an_event_born_leased_is_nobody_elses_from_the_start() {
        EventEnvelope event = json("{}");
        if (!bearsLeased()) {
            assertThatThrownBy(() -> db.inTransaction(connection -> store.insertAll(connection, List.of(event), OURS)))
                    .hasMessageContaining("BORN_LEASED");
            return;
        }
        db.inTransaction(connection -> store.insertAll(connection, List.of(event), OURS));

        assertThat(claim(THEIRS, db.now(), 10)).isEmpty();
        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).containsExactly(event.eventId());
        assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.DONE);
    }

    @Test
    void a_claim_takes_no_more_than_asked_oldest_due_time_first() {
        List<EventEnvelope> events = givenEvents(500);
        db.insert(events);
        List<String> ids =
                new ArrayList<>(events.stream().map(EventEnvelope::eventId).toList());
        Collections.shuffle(ids, new Random(3));
        Instant start = db.now().minus(Duration.ofHours(1));
        for (int i = 0; i < ids.size(); i++) {
            db.makeDue(ids.get(i), start.plusSeconds(i));
        }

        List<ClaimedEvent> claimed = claim(OURS, db.now(), 200);

        assertThat(claimed).extracting(event -> event.event().eventId()).containsExactlyElementsOf(ids.subList(0, 200));
    }

    @Test
    void new_events_and_retries_are_claimed_side_by_side() {
        EventEnvelope retried = givenClaimed(OURS);
        mark(Mark.retry(retried.eventId(), OURS.token(), true, Duration.ZERO, "again"));
        EventEnvelope fresh = json("{}");
        db.insert(fresh);

        List<ClaimedEvent> claimed = claimAll();

        assertThat(claimed)
                .extracting(event -> event.event().eventId())
                .containsExactlyInAnyOrder(retried.eventId(), fresh.eventId());
        assertThat(claimed).extracting(event -> event.event().attempts()).containsExactlyInAnyOrder(1, 0);
    }

    @Test
    void events_stored_a_moment_ago_are_left_alone_if_asked() {
        db.insert(json("{}"));
        Instant now = db.now();

        List<ClaimedEvent> skipped =
                db.call(connection -> store.claim(connection, OURS, now, now.minus(LEASE), Duration.ofMinutes(1), 10));

        assertThat(skipped).isEmpty();
    }

    @Test
    void a_transaction_that_commits_late_is_not_passed_over() throws Exception {
        EventEnvelope late = json("{}");
        try (Connection open = db.open()) {
            store.insertNew(open, late);
            db.insert(givenEvents(50));
            assertThat(claimAll()).hasSize(50);
            open.commit();
        }

        assertThat(claimAll()).extracting(event -> event.event().eventId()).containsExactly(late.eventId());
    }

    @Test
    void claimers_on_one_table_never_get_the_same_event() throws Exception {
        db.insert(givenEvents(3000));

        List<List<String>> claims = inParallel(4, barrier -> {
            await(barrier);
            List<String> mine = new ArrayList<>();
            for (int round = 0, empty = 0; empty < 3; round++) {
                Claim claim = new Claim(Thread.currentThread().getName() + "/" + round, Long.MAX_VALUE);
                List<ClaimedEvent> some = db.retrying(() -> claim(claim, db.now(), 50));
                assertThat(some).hasSizeLessThanOrEqualTo(50);
                some.forEach(event -> mine.add(event.event().eventId()));
                empty = some.isEmpty() ? empty + 1 : 0;
            }
            return mine;
        });

        List<String> all = claims.stream().flatMap(List::stream).toList();
        assertThat(all).doesNotHaveDuplicates().hasSize(3000);
    }

    // ---- one event ----

    @Test
    void a_free_event_can_be_claimed_by_its_id() {
        EventEnvelope event = json("{}");
        db.insert(event);

        Optional<ClaimedEvent> claimed = claimOne(OURS, event, null);

        assertThat(claimed).isPresent();
        assertThat(claimed.get().suspect()).isFalse();
        assertThat(claimOne(THEIRS, event, null)).isEmpty();
    }

    @Test
    void an_event_can_be_claimed_anew_by_who_holds_it() {
        EventEnvelope event = givenClaimed(OURS);
        Claim next = new Claim("ours/2", Long.MAX_VALUE);

        Optional<ClaimedEvent> claimed = claimOne(next, event, OURS);

        assertThat(claimed).isPresent();
        assertThat(claimed.get().suspect()).isFalse();
        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).isEmpty();
        assertThat(mark(Mark.done(event.eventId(), next.token()))).hasSize(1);
    }

    @Test
    void an_event_that_is_finished_or_missing_cannot_be_claimed() {
        EventEnvelope event = givenClaimed(OURS);
        mark(Mark.done(event.eventId(), OURS.token()));

        assertThat(claimOne(THEIRS, event, null)).isEmpty();
        assertThat(claimOne(THEIRS, json("{}"), null)).isEmpty();
    }

    @Test
    void a_row_that_another_transaction_has_locked_is_left_out_and_the_others_are_locked() throws SQLException {
        EventEnvelope locked = givenClaimed(OURS);
        EventEnvelope free = givenClaimed(OURS);
        List<String> all = List.of(locked.eventId(), free.eventId(), json("{}").eventId()); // the last has no row
        try (Connection stranger = db.open()) {
            assertThat(store.lockFree(stranger, List.of(locked.eventId()))).isEmpty();

            Set<String> leftOut = db.call(connection -> {
                Set<String> others = store.lockFree(connection, all);
                Mark mark = Mark.done(free.eventId(), OURS.token());
                assertThat(store.mark(connection, List.of(mark), store.now(connection)))
                        .containsExactly(free.eventId());
                return others;
            });

            assertThat(leftOut).isEqualTo(locksRows() ? Set.of(locked.eventId()) : Set.of());
            stranger.rollback();
        }
        assertThat(db.<Set<String>>call(connection -> store.lockFree(connection, all)))
                .isEmpty();
    }

    @Test
    void a_run_is_recorded_only_for_who_holds_the_event() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, OURS.token(), event.eventId(), 1)))
                .isTrue();
        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, THEIRS.token(), event.eventId(), 2)))
                .isFalse();
        mark(Mark.retry(event.eventId(), OURS.token(), false, Duration.ZERO, "counted before"));

        assertThat(db.row(event.eventId()).attempts()).isEqualTo(1);
    }

    @Test
    void a_run_is_forgotten_only_for_who_holds_the_event() {
        EventEnvelope event = givenClaimed(OURS);
        db.inTransaction(connection -> store.setAttempts(connection, OURS.token(), event.eventId(), 1));

        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, THEIRS.token(), event.eventId(), 0)))
                .isFalse();
        assertThat(db.row(event.eventId()).attempts()).isEqualTo(1);
        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, OURS.token(), event.eventId(), 0)))
                .isTrue();

        assertThat(db.row(event.eventId()).attempts()).isZero();
    }

    // ---- leases ----

    @Test
    void a_renewed_lease_lasts_from_its_renewal() {
        EventEnvelope event = givenClaimed(OURS);
        Instant later = db.now().plus(LEASE.multipliedBy(2));

        Set<String> renewed =
                db.call(connection -> store.renew(connection, OURS.token(), List.of(event.eventId()), later));

        assertThat(renewed).containsExactly(event.eventId());
        assertThat(claim(THEIRS, later.plus(LEASE).minusSeconds(5), 10)).isEmpty();
        assertThat(claim(THEIRS, later.plus(LEASE).plusSeconds(5), 10)).hasSize(1);
    }

    @Test
    void a_lease_that_was_lost_is_not_renewed() {
        EventEnvelope lost = givenClaimed(OURS);
        Instant later = db.now().plus(LEASE).plusSeconds(5);
        claim(THEIRS, later, 10);
        EventEnvelope kept = givenClaimed(OURS);

        Set<String> renewed = db.call(
                connection -> store.renew(connection, OURS.token(), List.of(lost.eventId(), kept.eventId()), later));

        assertThat(renewed).containsExactly(kept.eventId());
        assertThat(db.row(lost.eventId()).lockedBy()).isEqualTo(THEIRS.token());
    }

    // ---- marks ----

    @Test
    void a_poller_whose_lease_ran_out_cannot_mark_the_event() {
        EventEnvelope event = givenClaimed(OURS);
        claim(THEIRS, db.now().plus(LEASE).plusSeconds(5), 10);

        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).isEmpty();
        assertThat(mark(Mark.retry(event.eventId(), OURS.token(), true, Duration.ZERO, "x")))
                .isEmpty();
        assertThat(mark(Mark.dead(event.eventId(), OURS.token(), true, "x"))).isEmpty();
        assertThat(db.<Integer>call(connection -> store.release(connection, OURS.token(), List.of(event.eventId()))))
                .isZero();

        assertThat(db.row(event.eventId())).isEqualTo(new StoreFixture.Row(EventStatus.NEW, 0, null, THEIRS.token()));
    }

    @ParameterizedTest
    @EnumSource(
            value = EventStatus.class,
            names = {"DONE", "DEAD"})
    void a_terminal_event_stays_as_it_is(EventStatus terminal) {
        EventEnvelope event = givenClaimed(OURS);
        mark(
                terminal == EventStatus.DONE
                        ? Mark.done(event.eventId(), OURS.token())
                        : Mark.dead(event.eventId(), OURS.token(), true, "poison"));
        StoreFixture.Row before = db.row(event.eventId());

        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).isEmpty();
        assertThat(mark(Mark.retry(event.eventId(), OURS.token(), true, Duration.ZERO, "x")))
                .isEmpty();
        assertThat(mark(Mark.dead(event.eventId(), OURS.token(), true, "x"))).isEmpty();
        assertThat(claim(THEIRS, db.now().plus(LEASE.multipliedBy(3)), 10)).isEmpty();
        assertThat(claimOne(THEIRS, event, OURS)).isEmpty();

        assertThat(db.row(event.eventId())).isEqualTo(before);
    }

    @Test
    void a_group_of_outcomes_is_written_at_once_and_tells_which_were_ours() {
        List<EventEnvelope> events = givenEvents(1500);
        db.insert(events);
        claim(OURS, db.now(), 1499);
        Set<String> ours = db.lockedBy(OURS.token());
        String notOurs = events.stream()
                .map(EventEnvelope::eventId)
                .filter(id -> !ours.contains(id))
                .findFirst()
                .orElseThrow();
        String failing = ours.iterator().next();
        List<Mark> marks = new ArrayList<>();
        for (EventEnvelope event : events) {
            marks.add(
                    event.eventId().equals(failing)
                            ? Mark.retry(failing, OURS.token(), true, Duration.ZERO, "boom")
                            : Mark.done(event.eventId(), OURS.token()));
        }

        Set<String> written = db.call(connection -> store.mark(connection, marks, db.now()));

        assertThat(written).isEqualTo(ours);
        assertThat(db.row(notOurs)).isEqualTo(new StoreFixture.Row(EventStatus.NEW, 0, null, null));
        assertThat(db.row(failing)).isEqualTo(row(EventStatus.RETRY, 1, "boom"));
        assertThat(db.count("status = 1")).isEqualTo(1498);
    }

    @Test
    void a_group_of_failures_is_written_each_with_its_own_text_and_time_and_tells_which_were_ours() {
        List<EventEnvelope> events = givenEvents(1300);
        db.insert(events);
        claim(OURS, db.now(), 600);
        claim(THEIRS, db.now(), 600);
        Set<String> ours = db.lockedBy(OURS.token());
        Set<String> theirs = db.lockedBy(THEIRS.token());
        List<Mark> marks = new ArrayList<>();
        for (int i = 0; i < events.size(); i++) {
            String id = events.get(i).eventId();
            String token = (i % 10 == 0) == ours.contains(id) ? THEIRS.token() : OURS.token(); // some not the holder's
            marks.add(
                    i % 3 == 0
                            ? Mark.dead(id, token, i % 2 == 0, "dead " + i)
                            : Mark.retry(id, token, i % 2 == 0, Duration.ofMinutes(i), "failed " + i));
        }
        Set<String> held = marks.stream()
                .filter(mark -> (mark.token().equals(OURS.token()) ? ours : theirs).contains(mark.eventId()))
                .map(Mark::eventId)
                .collect(Collectors.toSet());
        Instant now = db.now();

        Set<String> written = db.call(connection -> store.mark(connection, marks, now));

        assertThat(held).hasSizeBetween(600, 1199);
        assertThat(written).isEqualTo(held);
        for (int i = 0; i < 1300; i += 25) {
            Mark mark = marks.get(i);
            StoreFixture.Row row = db.row(mark.eventId());
            if (held.contains(mark.eventId())) {
                assertThat(row).isEqualTo(row(mark.status(), mark.countsAttempt() ? 1 : 0, mark.error()));
            } else {
                assertThat(row.status()).isEqualTo(EventStatus.NEW);
                assertThat(row.attempts()).isZero();
            }
        }
        if (keepsTimeOfDeath()) {
            assertThat(db.count("status = 3 AND done_at IS NULL")).isZero();
        }
        Mark retry = marks.stream()
                .filter(mark -> mark.status() == EventStatus.RETRY && held.contains(mark.eventId()))
                .reduce((first, second) -> second)
                .orElseThrow();
        Claim late = new Claim("late/1", Long.MAX_VALUE);
        assertThat(dueAt(late, now.plus(retry.retryAfter()).minusSeconds(1))).doesNotContain(retry.eventId());
        assertThat(dueAt(late, now.plus(retry.retryAfter()).plusSeconds(1))).contains(retry.eventId());
    }

    private List<String> dueAt(Claim claim, Instant now) {
        return claim(claim, now, 10_000).stream()
                .map(event -> event.event().eventId())
                .toList();
    }

    @Test
    void delivered_events_are_deleted_only_for_who_holds_them() {
        List<EventEnvelope> events = givenEvents(1100);
        db.insert(events);
        claim(OURS, db.now(), 1050);
        List<String> ours = new ArrayList<>(db.lockedBy(OURS.token()));
        mark(Mark.done(ours.get(0), OURS.token()));
        mark(Mark.dead(ours.get(1), OURS.token(), true, "boom"));
        List<Mark> marks = new ArrayList<>();
        events.forEach(event -> marks.add(Mark.done(event.eventId(), OURS.token())));
        marks.add(Mark.done(ours.get(2), THEIRS.token()));
        marks.add(Mark.done("no-such-event", OURS.token()));

        Set<String> removed = db.call(connection -> store.remove(connection, marks));

        assertThat(removed).hasSize(1048).isSubsetOf(ours).doesNotContain(ours.get(0), ours.get(1));
        assertThat(db.count("1 = 1")).isEqualTo(52);
        assertThat(db.lockedBy(OURS.token())).isEmpty();
        Set<String> again = db.call(connection -> store.remove(connection, marks));
        assertThat(again).isEmpty();
    }

    @Test
    void a_group_of_outcomes_does_not_wait_for_a_business_transaction() throws SQLException {
        List<EventEnvelope> events = givenEvents(60);
        db.insert(events);
        claim(OURS, db.now(), 60);
        List<Mark> failed = new ArrayList<>();
        List<Mark> delivered = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            String id = events.get(i).eventId();
            switch (i % 3) {
                case 0 -> failed.add(Mark.retry(id, OURS.token(), true, Duration.ZERO, "boom"));
                case 1 -> failed.add(Mark.dead(id, OURS.token(), true, "boom"));
                default -> delivered.add(Mark.done(id, OURS.token()));
            }
        }
        Instant now = db.now();
        try (Connection business = db.open()) {
            store.insertAll(business, givenEvents(3), null);
            long start = System.nanoTime();

            db.inTransaction(connection -> {
                store.mark(connection, failed, now);
                store.remove(connection, delivered);
            });

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
            business.rollback();
        }
        assertThat(db.count("status = 2")).isEqualTo(20);
        assertThat(db.count("status = 3")).isEqualTo(20);
        assertThat(db.count("1 = 1")).isEqualTo(40);
    }

    @Test
    void an_error_text_of_any_kind_is_stored() {
        String hostile = "NUL \u0000, lone \ud800, bell \u0007, emoji 🎉, " + "x".repeat(10_000);
        EventEnvelope event = givenClaimed(OURS);

        mark(Mark.dead(event.eventId(), OURS.token(), true, hostile));

        assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.DEAD);
        if (!keepsErrors()) {
            return;
        }
        String stored = Objects.requireNonNull(db.row(event.eventId()).lastError());
        assertThat(stored).startsWith("NUL ?, lone ?, bell ?, emoji 🎉, xxx");
        assertThat(stored.codePointCount(0, stored.length())).isLessThanOrEqualTo(4000);
    }

    // ---- helpers ----

    private EventEnvelope json(String payload) {
        return event("T").payloadJson(payload).build();
    }

    /** A free row, as the table can tell it. */
    private StoreFixture.Row row(EventStatus status, int attempts, String error) {
        return new StoreFixture.Row(
                status,
                status == EventStatus.DEAD ? attemptsOfDead(attempts) : attempts,
                keepsErrors() ? error : null,
                null);
    }

    private List<EventEnvelope> givenEvents(int count) {
        return IntStream.range(0, count).mapToObj(this::givenEvent).toList();
    }

    private EventEnvelope givenEvent(int i) {
        EventEnvelope.Builder event = event("T").payloadJson("{\"n\":" + i + "}");
        return (keepsAggregates() ? event.aggregateId("a-" + i % 7) : event).build();
    }

    private EventEnvelope givenClaimed(Claim claim) {
        EventEnvelope event = json("{}");
        db.insert(event);
        assertThat(claimOne(claim, event, null)).isPresent();
        return event;
    }

    private List<ClaimedEvent> claimAll() {
        return claim(new Claim("all/" + System.nanoTime(), Long.MAX_VALUE), db.now(), 10_000);
    }

    private List<ClaimedEvent> claim(Claim claim, Instant now, int limit) {
        return db.call(connection -> store.claim(connection, claim, now, now.minus(LEASE), Duration.ZERO, limit));
    }

    private Optional<ClaimedEvent> claimOne(Claim claim, EventEnvelope event, @Nullable Claim held) {
        Instant now = db.now();
        return db.call(connection -> store.claimOne(connection, claim, event.eventId(), now, now.minus(LEASE), held));
    }

    private Set<String> mark(Mark mark) {
        Instant now = db.now();
        return new HashSet<>(db.call(connection -> store.mark(connection, List.of(mark), now)));
    }

    /** What one of several threads does, once the barrier lets all of them go. */
    private interface Task<T> {
        T run(CyclicBarrier barrier) throws Exception;
    }

    private static <T> List<T> inParallel(int threads, Task<T> task) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            CyclicBarrier barrier = new CyclicBarrier(threads);
            List<Callable<T>> calls = Collections.nCopies(threads, () -> task.run(barrier));
            List<T> results = new ArrayList<>();
            for (Future<T> result : pool.invokeAll(calls, 60, TimeUnit.SECONDS)) {
                results.add(result.get());
            }
            return results;
        } finally {
            pool.shutdownNow();
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await(30, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException("The other threads did not come", e);
        }
    }
}
