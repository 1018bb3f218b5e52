package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.jdbc.internal.claim.LockTimes;
import outbox.jdbc.internal.schema.DdlFiles;
import outbox.model.EventStatus;
import outbox.relay.Relay;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;
import static org.awaitility.Awaitility.await;

/** Tests what a layout description accepts and rejects. */
@Timeout(60)
class LayoutTest {

    @Test
    void a_layout_tells_what_it_has() {
        TableLayout module = TableLayout.module("org_outbox");
        TableLayout texts = TableLayout.textStatus("outbox_events");

        assertThat(module.has(LayoutFeature.SHARED_CLAIMS)).isTrue();
        assertThat(module.has(LayoutFeature.BORN_LEASED)).isFalse();
        assertThat(module.has(LayoutFeature.HEADERS)).isFalse();
        assertThat(texts.has(LayoutFeature.SHARED_CLAIMS)).isFalse();
        assertThat(texts.has(LayoutFeature.LAST_ERROR)).isFalse();
        assertThat(TableLayout.specification("outbox_event").has(LayoutFeature.BORN_LEASED))
                .isTrue();
    }

    @Test
    void what_a_layout_lacks_is_refused_by_name() {
        assertThatThrownBy(() -> TableLayout.module("org_outbox").require(LayoutFeature.HEADERS, "keep headers"))
                .hasMessageContaining("org_outbox")
                .hasMessageContaining("HEADERS");
    }

    @Test
    void a_table_without_a_place_for_claims_needs_a_leadership() {
        DataSource pool = Databases.newPool(Databases.H2.url(), 2, true);

        assertThatThrownBy(() -> LayoutEventStore.of(pool, TableLayout.textStatus("outbox_events")))
                .hasMessageContaining("outbox_events")
                .hasMessageContaining("SHARED_CLAIMS")
                .hasMessageContaining("leadership");
        LayoutEventStore led = LayoutEventStore.of(pool, TableLayout.textStatus("outbox_events"), new TestLead());
        assertThatThrownBy(() -> Relay.builder()
                        .connectionProvider(pool::getConnection)
                        .eventStore(led)
                        .dispatcher(message -> {})
                        .build())
                .hasMessageContaining("leadership");
    }

    @Test
    void a_table_without_a_place_for_claims_is_relayed_under_a_lead_and_only_then() throws SQLException {
        DataSource pool = Databases.newPool(Databases.H2.url(), 5, true);
        TestLead lead = new TestLead();
        LayoutEventStore store = LayoutEventStore.of(pool, TableLayout.textStatus("outbox_events"), lead);
        LayoutSchema.create(pool, store);
        insert(pool, "e-1");
        insert(pool, "e-2");
        List<String> delivered = new CopyOnWriteArrayList<>();
        try (Relay relay = Relay.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(store)
                .leadership(lead)
                .retryPolicy(attempts -> 0)
                .pollInterval(Duration.ofMillis(50))
                .dispatcher(message -> {
                    delivered.add(
                            message.meta().eventId() + "/" + message.meta().attempts());
                    if (delivered.size() == 1) {
                        throw new IllegalStateException("once");
                    }
                })
                .build()) {
            relay.poll();
            assertThat(delivered).isEmpty();
            lead.offered = true;
            relay.start();

            await().until(() -> count(pool, "status = 'SENT'") == 2);
        }
        assertThat(delivered).containsExactlyInAnyOrder("e-1/1", "e-2/1", "e-1/2");
        assertThat(count(pool, "retry_count = 1")).isEqualTo(1);
    }

    @Test
    void without_the_lead_nothing_is_claimed_and_nothing_marked() throws SQLException {
        DataSource pool = Databases.newPool(Databases.H2.url(), 5, true);
        TestLead lead = new TestLead();
        LayoutEventStore store = LayoutEventStore.of(pool, TableLayout.textStatus("outbox_events"), lead);
        LayoutSchema.create(pool, store);
        StoreFixture db = new StoreFixture(pool, store, "outbox_events", false);
        insert(pool, "e-1");
        insert(pool, "e-2");

        assertThat(claim(db, "before", 1)).isEmpty();
        lead.offered = true;
        lead.lead();
        assertThat(claim(db, "ours", 1)).containsExactly("e-1");
        lead.lost();

        assertThat(claim(db, "late", 1)).isEmpty();
        Instant now = db.now();
        Set<String> marked = db.call(connection -> store.mark(connection, List.of(Mark.done("e-1", "ours")), now));
        Set<String> renewed = db.call(connection -> store.renew(connection, "ours", List.of("e-1"), now));
        assertThat(marked).isEmpty();
        assertThat(renewed).isEmpty();
        assertThat(count(pool, "status = 'NEW'")).isEqualTo(2);
    }

    private static List<String> claim(StoreFixture db, String token, int limit) {
        Instant now = db.now();
        List<ClaimedEvent> claimed = db.call(connection -> db.store()
                .claim(
                        connection,
                        new Claim(token, Long.MAX_VALUE),
                        ClaimRequest.of(now, now.minusSeconds(60), limit)));
        return claimed.stream().map(event -> event.event().eventId()).toList();
    }

    @Test
    void a_description_that_contradicts_itself_is_refused() {
        assertThatThrownBy(() -> TableLayout.builder("mine", "t").build()).hasMessageContaining("EVENT_ID");
        assertThatThrownBy(() -> TableLayout.module("org_outbox; DROP TABLE x")).hasMessageContaining("table name");
        assertThatThrownBy(() -> TableLayout.builder("mine", "t").column(LayoutColumn.EVENT_ID, "id\""))
                .hasMessageContaining("column name");
        assertThatThrownBy(() -> TableLayout.builder("mine", "t").statusTexts("A", "B", "B", "C"))
                .hasMessageContaining("value of its own");
        assertThatThrownBy(() -> TableLayout.builder("mine", "t").statusTexts("A", "it's", "B", "C"))
                .hasMessageContaining("A status is a text");
        assertThatThrownBy(() -> TableLayout.builder("mine", "t").optionalColumn(LayoutColumn.EVENT_ID, "id"))
                .hasMessageContaining("optional");
    }

    @Test
    void a_table_that_is_not_of_the_layout_is_refused_with_what_is_missing() throws SQLException {
        ModuleTable db = new ModuleTable();
        db.execute("ALTER TABLE org_outbox DROP COLUMN last_error");

        try (Connection connection = db.dataSource.getConnection()) {
            assertThatThrownBy(() -> db.store.oldestPending(connection)).hasMessageContaining("last_error");
        }
    }

    @Test
    void names_that_need_quotes_are_in_quotes() {
        // an SQL keyword, and not in lower case
        ModuleTable db = new ModuleTable("public.Order", 25);

        assertThat(LayoutSchema.script(db.store)).contains("CREATE TABLE \"public\".\"Order\" (");
        assertThat(db.number("SELECT COUNT(*) FROM public.\"Order\"")).isZero();
        LayoutSchema.create(db.dataSource, db.store); // the table already exists
    }

    @Test
    void the_script_of_a_module_names_everything_after_its_table() {
        ModuleTable db = new ModuleTable("org_outbox", 25);

        assertThat(LayoutSchema.script(db.store).replace("\"org_outbox\"", "org_outbox"))
                .contains("CREATE TABLE org_outbox (\n  id           UUID        NOT NULL DEFAULT gen_random_uuid(),")
                .contains("CONSTRAINT org_outbox_event_id_key UNIQUE (event_id),")
                .contains("CREATE INDEX org_outbox_pending_by_available\n  ON org_outbox (available_at, sequence)")
                .contains("CREATE INDEX org_outbox_published_by_time\n  ON org_outbox (published_at, sequence)")
                .contains("CREATE INDEX org_outbox_tenant_published");
    }

    @Test
    void the_shipped_ddl_of_a_module_is_its_standard_to_the_byte() throws Exception {
        byte[] shipped = DdlFiles.read("META-INF/outbox/schema-module/postgresql/V1__module_outbox.sql")
                .getBytes(StandardCharsets.UTF_8);

        assertThat(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(shipped)))
                .isEqualTo("041c077853739b5b4a4083118956cab53942e783852f6f0003581aa2948b5345");
    }

    @Test
    void a_table_of_ours_is_relayed_too_and_a_listener_finds_in_the_headers_what_is_known() {
        StoreFixture db = Databases.H2.fixture();
        EventEnvelope event = EventEnvelope.builder("OrderPlaced")
                .header("a", "1")
                .payloadJson("{}")
                .build();
        db.insert(event);
        List<EventEnvelope> delivered = new CopyOnWriteArrayList<>();
        try (Relay relay = Relay.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(db.store())
                .table(db.table())
                .listener(delivered::add)
                .build()) {
            relay.start();
            await().until(() -> db.row(event.eventId()).status() == EventStatus.DONE);
        }

        assertThat(delivered).hasSize(1);
        assertThat(delivered.get(0).headers())
                .containsExactly(entry("a", "1"), entry("outbox-table", db.table()), entry("outbox-attempts", "1"));
    }

    @Test
    void no_two_claims_have_the_same_time() {
        LockTimes times = new LockTimes();
        Instant now = Instant.parse("2026-01-01T00:00:00.000001234Z");

        Instant first = times.lock("a", now);
        Instant second = times.lock("b", now);
        Instant renewed = times.lock("a", now.plusSeconds(20));

        assertThat(first).isEqualTo(now.truncatedTo(ChronoUnit.MICROS));
        assertThat(second).isEqualTo(first.plus(1, ChronoUnit.MICROS));
        assertThat(times.of("a")).containsExactly(first, renewed);
        assertThat(times.of("c")).isEmpty();
    }

    @Test
    void old_claims_are_forgotten_unless_they_were_renewed() {
        LockTimes times = new LockTimes();
        Instant then = Instant.parse("2026-01-01T00:00:00Z");
        times.lock("old", then);
        times.lock("renewed", then.plusSeconds(1));
        times.lock("renewed", then.plusSeconds(3000));

        times.forget(then.plusSeconds(3600), then.plusSeconds(60));

        assertThat(times.of("old")).isEmpty();
        assertThat(times.of("renewed")).hasSize(2);
        assertThat(times.lock("new", then)).isEqualTo(then);
    }

    private static void insert(DataSource pool, String eventId) throws SQLException {
        try (Connection connection = pool.getConnection();
                var statement = connection.createStatement()) {
            statement.execute(
                    "INSERT INTO outbox_events (event_id, event_type, aggregate_type, aggregate_id, payload, status, create_time, update_time) VALUES ('"
                            + eventId
                            + "', 'OrderPaid', 'Order', 7, '{}', 'NEW', TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00')");
        }
    }

    private static long count(DataSource pool, String condition) throws SQLException {
        try (Connection connection = pool.getConnection();
                var statement = connection.createStatement();
                var row = statement.executeQuery("SELECT COUNT(*) FROM outbox_events WHERE " + condition)) {
            row.next();
            return row.getLong(1);
        }
    }
}
