package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.Position;
import outbox.testing.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** On PostgreSQL events that use delivery control have a table of their own, whose rows are those of the outbox table too. */
@Timeout(60)
class PostgresControlTableTest {

    private static final Claim CLAIM = new Claim("claim", Long.MAX_VALUE);

    @Test
    void only_events_with_a_priority_or_a_deadline_are_in_its_table_and_all_are_in_that_of_the_outbox() {
        StoreFixture db = Databases.POSTGRES.fixture();

        db.insert(List.of(
                EventEnvelope.ofJson("T", "{}"),
                event().availableAt(db.now()).build(),
                event().priority(1).build(),
                event().dedupKey("k").build(),
                event().expiresAt(db.now()).build()));

        assertThat(ask(db, "SELECT count(*) FROM ONLY outbox_event")).containsExactly("3");
        assertThat(ask(db, "SELECT count(*) FROM outbox_event_control")).containsExactly("2");
        assertThat(db.count("1 = 1")).isEqualTo(5);
    }

    @Test
    void an_insert_of_a_plain_event_opens_no_index_of_control() {
        StoreFixture db = Databases.POSTGRES.fixture();

        assertThat(ask(db, "SELECT indexname FROM pg_indexes WHERE tablename = 'outbox_event'"))
                .containsExactlyInAnyOrder("outbox_event_pkey", "outbox_event_due", "outbox_event_order");
    }

    @ParameterizedTest
    @CsvSource({"ORDER, CONTROL", "CONTROL, ORDER"})
    void the_events_of_an_aggregate_are_in_one_order_whichever_capability_came_first(Capability one, Capability other) {
        DataSource pool = Databases.newPool(Databases.POSTGRES.url(), 4, true);
        AbstractJdbcEventStore store = new PostgresEventStore("invoices_outbox");
        OutboxSchema.create(pool, store, one);
        OutboxSchema.create(pool, store, other);
        StoreFixture db = new StoreFixture(pool, store, "invoices_outbox", true);
        List<EventEnvelope> events =
                List.of(event().build(), event().priority(1).build(), event().build());

        events.forEach(db::insert);

        List<String> ids = events.stream().map(EventEnvelope::eventId).toList();
        Map<String, Position> positions =
                db.call(connection -> store.positions(connection, ids, Ordering.perAggregate()));
        for (int i = 1; i < ids.size(); i++) {
            assertThat(Objects.requireNonNull(positions.get(ids.get(i))).unfinishedBefore())
                    .isEqualTo(Objects.requireNonNull(positions.get(ids.get(i - 1)))
                            .number())
                    .isPositive();
        }
        assertThat(ask(db, "SELECT indexname FROM pg_indexes WHERE tablename = 'invoices_outbox_control'"))
                .contains("invoices_outbox_control_due", "invoices_outbox_control_order");
    }

    @Test
    void what_is_asked_about_control_is_answered_by_its_indexes() {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Instant now = db.now();
        db.inTransaction(connection -> execute(
                connection,
                """
                INSERT INTO outbox_event_control (event_id, event_type, payload, status, available_at, created_at, dedup_key, priority, expires_at)
                SELECT i::text, 'T', '{}', i % 4, now(), now(), 'k' || i, 1 + i % 9, now() + INTERVAL '1 day' FROM generate_series(1, 20000) i
                """,
                """
                INSERT INTO outbox_key (outbox_table, dedup_key, event_id)
                SELECT 'outbox_event', 'k' || i, i::text FROM generate_series(1, 20000) i
                """,
                "ANALYZE outbox_key",
                """
                INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
                SELECT 'plain' || i, 'T', '{}', 0, now(), now() FROM generate_series(1, 20000) i
                """,
                "ANALYZE outbox_event",
                "ANALYZE outbox_event_control"));

        assertThat(plans(db, connection -> store.find(connection, EventRef.key("k8"), false)))
                .singleElement()
                .asString()
                .contains("Index Scan using outbox_key_pkey on", "Index Scan using outbox_event_pkey on")
                .doesNotContain("Seq Scan");
        assertThat(plans(db, connection -> store.expire(connection, now, now, "late", 100)))
                .hasSize(2)
                .allMatch(plan -> plan.contains("Index Scan using outbox_event_control_expiry on"));
        assertThat(plans(
                        db,
                        connection -> assertThat(
                                        store.claim(connection, CLAIM, now.plusSeconds(60), now, Duration.ZERO, 40))
                                .hasSize(40)))
                .anyMatch(plan -> plan.contains("Index Scan using outbox_event_control_priority on"))
                .noneMatch(plan -> plan.contains("Seq Scan") || plan.contains("->  Sort"));
    }

    /** As it was made by hand, or before there was a table for them. */
    @Test
    void a_table_that_has_the_columns_itself_keeps_events_that_use_control_itself() {
        StoreFixture db = givenControlInTheTableItself();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        EventEnvelope first = event().dedupKey("k").priority(3).build();
        EventEnvelope second = event().dedupKey("k").build();

        OutboxSchema.create(
                db.dataSource(), store, Capability.CONTROL); // finds the columns, and no table for the indexes

        db.insert(first);
        Map<String, String> leftOut = db.call(connection -> store.insertUnlessTaken(connection, List.of(second), null));
        assertThat(leftOut).containsOnly(Map.entry(second.eventId(), first.eventId()));
        assertThat(db.<Boolean>call(connection ->
                        store.find(connection, EventRef.key("k"), false).isPresent()))
                .isTrue();
        List<ClaimedEvent> claimed =
                db.call(connection -> store.claim(connection, CLAIM, db.now(), db.now(), Duration.ZERO, 10));
        assertThat(claimed).hasSize(1);
    }

    @Test
    void events_that_a_table_kept_itself_move_when_there_is_a_table_for_them() {
        StoreFixture db = givenControlInTheTableItself();
        EventEnvelope first = event().priority(3).build();
        db.insert(first);
        db.insert(event().build());

        AbstractJdbcEventStore after = new PostgresEventStore();
        String[] migration = OutboxSchema.statements(after, Capability.CONTROL).toArray(String[]::new);
        db.inTransaction(connection -> execute(connection, migration));
        db.inTransaction(connection -> execute(connection, migration)); // once more does no harm

        assertThat(ask(db, "SELECT event_id FROM outbox_event_control")).containsExactly(first.eventId());
        assertThat(db.count("1 = 1")).isEqualTo(2);
    }

    @Test
    void a_table_beside_that_is_no_part_of_the_outbox_is_refused() {
        DataSource pool = Databases.newPool(Databases.POSTGRES.url(), 4, true);
        AbstractJdbcEventStore store = new PostgresEventStore();
        OutboxSchema.create(pool, store);
        StoreFixture db = new StoreFixture(pool, new PostgresEventStore(), "outbox_event", true);
        db.inTransaction(connection -> execute(connection, "CREATE TABLE outbox_event_control (event_id TEXT)"));

        assertThatThrownBy(() -> db.insert(EventEnvelope.ofJson("T", "{}")))
                .hasMessageContaining("outbox_event_control does not inherit from outbox_event");
    }

    @Test
    void a_name_too_long_for_what_is_named_after_it_is_refused() {
        DataSource pool = Databases.newPool(Databases.POSTGRES.url(), 4, true);
        AbstractJdbcEventStore fits = new PostgresEventStore("a".repeat(46));
        AbstractJdbcEventStore tooLong = new PostgresEventStore("b".repeat(63));
        AbstractJdbcEventStore tooLongForControl = new PostgresEventStore("c".repeat(47));

        OutboxSchema.create(pool, fits, Capability.ORDER, Capability.CONTROL);
        OutboxSchema.create(pool, tooLongForControl);

        StoreFixture db = new StoreFixture(pool, tooLongForControl, "c".repeat(47), true);
        db.insert(EventEnvelope.ofJson("T", "{}"));
        assertThat(db.count("1 = 1")).isEqualTo(1);
        assertThatThrownBy(() -> OutboxSchema.create(pool, tooLongForControl, Capability.CONTROL))
                .hasMessageContaining("too long");
        assertThatThrownBy(() -> OutboxSchema.create(pool, tooLong)).hasMessageContaining("too long");
    }

    private static StoreFixture givenControlInTheTableItself() {
        DataSource pool = Databases.newPool(Databases.POSTGRES.url(), 4, true);
        AbstractJdbcEventStore store = new PostgresEventStore();
        OutboxSchema.create(pool, store);
        StoreFixture db = new StoreFixture(pool, store, "outbox_event", true);
        db.inTransaction(connection -> execute(
                connection,
                "ALTER TABLE outbox_event ADD dedup_key VARCHAR(128), ADD dedup_ms BIGINT,"
                        + " ADD priority SMALLINT, ADD expires_at TIMESTAMPTZ"));

        return db;
    }

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").aggregateId("7").payloadJson("{}");
    }

    private static List<String> plans(StoreFixture db, StoreFixture.Work use) {
        return db.call(connection -> {
            PlanRecorder recorder = new PlanRecorder(connection);
            use.on(recorder.connection());
            connection.rollback();
            return recorder.plans().stream()
                    .filter(plan ->
                            !plan.contains("FROM pg_inherits") && !plan.contains("to_regclass")) // the first look
                    .toList();
        });
    }

    private static List<String> ask(StoreFixture db, String sql) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        return db.call(connection -> store.query(connection, sql, binder -> {}, row -> row.getString(1)));
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
