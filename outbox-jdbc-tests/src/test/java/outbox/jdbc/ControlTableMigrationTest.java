package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventOrder.Position;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Migrates a PostgreSQL table of an earlier version, which stores events with a priority or a deadline in a
 * second table.
 */
@Timeout(60)
class ControlTableMigrationTest {

    private static final Claim CLAIM = new Claim("holder", Long.MAX_VALUE);
    private static final String ALL_ROWS = "SELECT (e.*)::text FROM %s e ORDER BY event_id";

    private DataSource pool;
    private PostgresEventStore store;
    private StoreFixture db;

    /**
     * Inserts rows of every status into both tables, with claims and keys. The order numbers alternate between
     * the tables.
     */
    @BeforeEach
    void createAsBefore() {
        pool = Databases.newPool(Databases.POSTGRES.url(), 6, true);
        store = new PostgresEventStore();
        OutboxSchema.create(pool, store, Capability.ORDER, Capability.KEYS);
        db = new StoreFixture(pool, store, "outbox_event", true);
        EarlierControlTable.create(db, "outbox_event");
        for (int i = 0; i < 12; i++) {
            int status = i / 2 % 4;
            execute("""
                    INSERT INTO %1$s (event_id, event_type, aggregate_type, aggregate_id, payload, payload_bytes, status,
                                      attempts, available_at, created_at, done_at, locked_by, locked_at, dedup_key,
                                      dedup_ms, priority, expires_at)
                    VALUES ('%2$s', 'T', 'Order', '7', '{"n":%3$d}', '\\x00ff', %4$d, %3$d, now(), now(), %5$s, %6$s,
                            'k%3$d', 3600000, %7$s)
                    """.formatted(
                            i % 2 == 0 ? "outbox_event" : "outbox_event_control",
                            id(i),
                            i,
                            status,
                            status % 2 == 0 ? "NULL" : "now()",
                            status % 2 == 0 ? "'holder', now()" : "NULL, NULL",
                            i % 2 == 0 ? "NULL, NULL" : "5, now() + INTERVAL '1 day'"));
            execute("INSERT INTO outbox_key VALUES ('outbox_event', 'k" + i + "', '" + id(i) + "')");
        }
    }

    private static String id(int number) {
        return "e%02d".formatted(number);
    }

    @Test
    void every_row_is_kept_and_the_second_table_is_gone() {
        List<String> before = ask(ALL_ROWS.formatted("outbox_event"));
        assertThat(ask(ALL_ROWS.formatted("ONLY outbox_event_control"))).hasSize(6);
        assertThat(OutboxSchema.hasControlTable(pool, store)).isTrue();

        OutboxSchema.mergeControlTable(pool, store);
        OutboxSchema.mergeControlTable(pool, store); // the second call does nothing

        assertThat(OutboxSchema.hasControlTable(pool, store)).isFalse();
        assertThat(ask("SELECT to_regclass('outbox_event_control')::text")).containsExactly((String) null);
        assertThat(ask(ALL_ROWS.formatted("ONLY outbox_event")))
                .isEqualTo(before)
                .hasSize(12);
        assertThat(ask("SELECT indexname FROM pg_indexes WHERE tablename = 'outbox_event'"))
                .containsExactlyInAnyOrder(
                        "outbox_event_pkey",
                        "outbox_event_due",
                        "outbox_event_order",
                        "outbox_event_priority",
                        "outbox_event_expiry");
        assertThat(OutboxSchema.missing(
                        pool, store, Capability.ORDER, Capability.KEYS, Capability.PRIORITY, Capability.DEADLINES))
                .isEmpty();
    }

    @Test
    void claims_keys_and_order_numbers_are_valid_afterwards() {
        db.inTransaction(connection -> store.shape(connection)); // as a node does that runs during the migration
        long last = Long.parseLong(ask("SELECT max(seq) FROM outbox_event").get(0));

        OutboxSchema.mergeControlTable(pool, store);

        List<Mark> marks = List.of(Mark.done("e01", "holder"), Mark.done("e05", "other"));
        assertThat(db.<Set<String>>call(connection -> store.mark(connection, marks, db.now())))
                .containsExactly("e01");
        EventEnvelope taken = event().dedupKey("k3").build();
        assertThat(db.<Map<String, String>>call(
                        connection -> store.insertUnlessTaken(connection, List.of(taken), null)))
                // e03 is delivered and keeps its key
                .containsOnly(Map.entry(taken.eventId(), "e03"));
        assertThat(db.<String>call(connection -> store.find(connection, EventRef.key("k5"), false)
                        .orElseThrow()
                        .eventId()))
                .isEqualTo("e05");
        EventEnvelope next =
                event().aggregateType("Order").aggregateId("7").priority(9).build();
        db.insert(next);
        Position position = Objects.requireNonNull(db.<Map<String, Position>>call(
                        connection -> store.positions(connection, List.of(next.eventId()), Ordering.perAggregate()))
                .get(next.eventId()));
        assertThat(position.number()).isEqualTo(last + 1);
        assertThat(position.unfinishedBefore()).isEqualTo(10); // e09
        Instant now = db.now();
        List<ClaimedEvent> free =
                db.call(connection -> store.claim(connection, CLAIM, ClaimRequest.of(now, now.minusSeconds(300), 100)));
        assertThat(free).extracting(one -> one.event().eventId()).containsExactly(next.eventId());
    }

    @Test
    void nodes_of_this_version_work_before_the_migration() {
        EventEnvelope urgent = event().priority(9).build();
        EventEnvelope late = event().expiresAt(db.now().minusSeconds(1)).build();
        db.insert(List.of(urgent, late));
        execute("UPDATE outbox_event SET locked_by = NULL, locked_at = NULL");
        Instant now = db.now();

        assertThat(db.<List<String>>call(
                        connection -> store.expire(connection, now, now.minusSeconds(300), "Expired: late", 100)))
                .containsExactly(late.eventId());
        List<ClaimedEvent> first =
                db.call(connection -> store.claim(connection, CLAIM, ClaimRequest.of(now, now.minusSeconds(300), 4)));
        assertThat(first).extracting(one -> one.event().eventId()).contains(urgent.eventId());
        assertThat(ask("SELECT count(*) FROM ONLY outbox_event WHERE priority IS NOT NULL"))
                .containsExactly("1");

        OutboxSchema.create(pool, store, Capability.PRIORITY, Capability.DEADLINES);

        assertThat(ask("SELECT indexname FROM pg_indexes WHERE tablename = 'outbox_event'"))
                .contains("outbox_event_priority", "outbox_event_expiry");
        // only the operator knows whether other nodes run
        assertThat(OutboxSchema.hasControlTable(pool, store)).isTrue();
    }

    @Test
    void an_id_in_both_tables_is_refused_and_nothing_is_changed() {
        execute("UPDATE ONLY outbox_event_control SET event_id = 'e02' WHERE event_id = 'e03'");
        List<String> before = ask(ALL_ROWS.formatted("outbox_event"));

        assertThatThrownBy(() -> OutboxSchema.mergeControlTable(pool, store))
                .isInstanceOf(EventStoreException.class)
                .hasMessageContainingAll("e02", "another id");

        assertThat(ask(ALL_ROWS.formatted("outbox_event"))).isEqualTo(before);
        assertThat(OutboxSchema.hasControlTable(pool, store)).isTrue();
    }

    @Test
    void keys_that_are_still_in_an_index_are_moved_first() {
        execute("CREATE UNIQUE INDEX outbox_event_control_key ON outbox_event_control (dedup_key)"
                + " WHERE dedup_key IS NOT NULL AND status IN (0, 2)");

        assertThatThrownBy(() -> OutboxSchema.mergeControlTable(pool, store))
                .hasMessageContaining("V10__outbox_key.sql");
        OutboxSchema.create(pool, store, Capability.KEYS);
        OutboxSchema.mergeControlTable(pool, store);

        assertThat(OutboxSchema.hasControlTable(pool, store)).isFalse();
    }

    /**
     * A snapshot taken before the lock would miss rows that were committed while the migration waited for the lock.
     */
    @Test
    void a_transaction_with_a_snapshot_is_refused() throws SQLException {
        String script = OutboxSchema.controlTableStatements(store).get(0);
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            try (Statement statement = connection.createStatement()) {
                assertThatThrownBy(() -> statement.execute(script)).hasMessageContaining("READ COMMITTED");
            } finally {
                connection.rollback();
                connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            }
        }
    }

    @Test
    void a_table_of_another_name_in_a_schema_is_migrated_too() {
        execute("CREATE SCHEMA billing");
        PostgresEventStore billing = new PostgresEventStore("billing.invoices");
        OutboxSchema.create(pool, billing, Capability.KEYS);
        EarlierControlTable.create(db, "billing.invoices");
        execute("INSERT INTO billing.invoices_control (event_id, event_type, payload, status, available_at, created_at)"
                + " VALUES ('i', 'T', '{}', 0, now(), now())");

        OutboxSchema.mergeControlTable(pool, billing);

        assertThat(ask("SELECT event_id FROM ONLY billing.invoices")).containsExactly("i");
        assertThat(OutboxSchema.hasControlTable(pool, billing)).isFalse();
        assertThat(OutboxSchema.hasControlTable(pool, store)).isTrue();
    }

    @Test
    void a_table_without_a_second_one_is_left_alone() {
        PostgresEventStore plain = new PostgresEventStore("plain_event");
        OutboxSchema.create(pool, plain);

        OutboxSchema.mergeControlTable(pool, plain);

        assertThat(ask("SELECT indexname FROM pg_indexes WHERE tablename = 'plain_event'"))
                .containsExactlyInAnyOrder("plain_event_pkey", "plain_event_due");
    }

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").payloadJson("{}");
    }

    private void execute(String sql) {
        db.inTransaction(connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        });
    }

    private List<String> ask(String sql) {
        return db.call(connection -> {
            List<String> found = new ArrayList<>();
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(sql)) {
                while (rows.next()) {
                    found.add(rows.getString(1));
                }
            }
            return found;
        });
    }
}
