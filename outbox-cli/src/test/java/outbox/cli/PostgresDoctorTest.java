package outbox.cli;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;

/** Plants each fault alone into a healthy database; the doctor must report this fault. */
class PostgresDoctorTest {

    private Shop shop = Shop.inMemory(); // replaced before each test

    @BeforeEach
    void createDatabase() throws SQLException {
        shop = Shop.at(PostgresServer.shared().createDatabase());
        shop.execute("""
                INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at, done_at)
                SELECT 'done-' || i, 'order.placed', '{}', 1, now() - INTERVAL '1 hour', now() - INTERVAL '1 hour', now() - INTERVAL '1 hour'
                  FROM generate_series(1, 20000) AS i
                """, "VACUUM ANALYZE outbox_event");
        shop.write("order.placed");
        shop.writeDone("order.placed");
    }

    private Run doctor(String... more) {
        return doctor(Clock.systemUTC(), more);
    }

    private Run doctor(Clock clock, String... more) {
        String[] fixed = {
            "doctor",
            "--json",
            "--url",
            shop.url(),
            "--stalled",
            "10s",
            "--expect",
            "order,keys,priority,deadlines,pauses,attempts",
            "--without",
            "durability" // test servers run without durability
        };
        String[] all = new String[fixed.length + more.length];
        System.arraycopy(fixed, 0, all, 0, fixed.length);
        System.arraycopy(more, 0, all, fixed.length, more.length);
        return Run.with(Map.of(), question -> Optional.empty(), clock, all);
    }

    private static void assertFound(Run run, String check, String words) {
        assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out())
                .containsOnlyOnce("\"check\" :")
                .contains("\"check\" : \"" + check + "\"", words, "\"notChecked\" : [ ]");
    }

    @Test
    void a_healthy_database_gets_no_word() {
        Run run = Run.of("doctor", "--url", shop.url(), "--types", "order.placed", "--without", "durability");

        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains("No problem found").doesNotContain("not checked");
        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
    }

    @Test
    void a_missing_index_is_named() throws Exception {
        shop.execute("DROP INDEX outbox_event_order");

        assertFound(doctor(), "index", "aggregate_type, aggregate_id, status, seq");
    }

    @Test
    void the_missing_index_of_the_claim_is_named() throws Exception {
        shop.execute("DROP INDEX outbox_event_due");

        assertFound(doctor(), "index", "no index for the claim, such as on (available_at, created_at)");
    }

    @Test
    void an_invalid_index_is_named() throws Exception {
        shop.execute("UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'outbox_event_expiry'::regclass");

        Run run = doctor();

        assertThat(run.out())
                .contains(
                        "Index outbox_event_expiry of outbox_event is invalid",
                        "Table outbox_event has no index for deadlines");
    }

    @Test
    void a_second_table_of_an_earlier_version_is_named_and_schema_apply_moves_its_rows() throws Exception {
        shop.execute(
                "CREATE TABLE outbox_event_control (PRIMARY KEY (event_id)) INHERITS (outbox_event)",
                "INSERT INTO outbox_event_control"
                        + " (event_id, event_type, payload, status, available_at, created_at, done_at) VALUES ('urgent', 'order.placed', '{}', 1, now(), now(), now())");
        assertFound(doctor(), "migration", "Table outbox_event_control of an earlier version");

        Run applied = Run.of("schema", "apply", "--yes", "--url", shop.url());

        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);
        assertThat(applied.out()).contains("Stop all nodes of the earlier version", "DROP TABLE outbox_event_control");
        assertThat(shop.ask("SELECT COUNT(*) FROM ONLY outbox_event WHERE event_id = 'urgent'"))
                .isEqualTo("1");
        assertThat(doctor().exitCode()).isEqualTo(ExitCode.OK);
    }

    @Test
    void a_bad_plan_of_the_claim_is_named() throws Exception {
        String name = shop.ask("SELECT current_database()");
        shop.execute(
                "ALTER DATABASE " + name + " SET enable_indexscan = off",
                "ALTER DATABASE " + name + " SET enable_bitmapscan = off");

        assertFound(doctor(), "plan", "Seq Scan");
    }

    @Test
    void a_clock_that_is_wrong_is_named() {
        Run ahead = doctor(Clock.offset(Clock.systemUTC(), Duration.ofSeconds(-7)));
        Run behind = doctor(Clock.offset(Clock.systemUTC(), Duration.ofSeconds(7)));

        assertFound(ahead, "clock", "ahead of");
        assertFound(behind, "clock", "behind");
    }

    @Test
    void a_wrong_isolation_is_named() throws Exception {
        shop.execute("ALTER DATABASE " + shop.ask("SELECT current_database()")
                + " SET default_transaction_isolation = 'serializable'");

        assertFound(doctor(), "transaction", "SERIALIZABLE");
    }

    @Test
    void events_with_an_aggregate_id_and_no_type_are_counted() throws Exception {
        String id = shop.write("order.placed");
        shop.execute(
                "UPDATE outbox_event SET aggregate_type = NULL, aggregate_id = '4711' WHERE event_id = '" + id + "'");

        assertFound(doctor(), "order", "1 pending events have an aggregate_id but no aggregate_type");
    }

    @Test
    void a_sequence_that_hands_out_ranges_is_named() throws Exception {
        shop.execute("ALTER SEQUENCE outbox_event_numbers CACHE 20");

        assertFound(doctor(), "order", "outbox_event_numbers has CACHE 20");
    }

    @Test
    void pending_types_without_a_listener_are_named() throws Exception {
        shop.write("order.lost");

        assertFound(doctor("--types", "order.placed,order.paid"), "route", "order.lost");
    }

    @Test
    void events_that_died_for_want_of_a_listener_are_named() throws Exception {
        shop.writeDead(
                "order.lost",
                "UnroutableEventException: No listener is registered for __GLOBAL__:order.lost (event x).");

        assertFound(doctor(), "route", "order.lost");
    }

    @Test
    void types_that_nobody_takes_while_others_flow_are_named() throws Exception {
        String id = shop.write("order.lost");
        shop.execute("UPDATE outbox_event SET available_at = now() - INTERVAL '1 minute', created_at = now() -"
                + " INTERVAL '1 minute' WHERE event_id = '" + id + "'");

        assertFound(doctor(), "route", "nobody takes them");
    }

    @Test
    void expired_leases_are_named() throws Exception {
        String id = shop.write("order.placed");
        shop.execute(
                "UPDATE outbox_event SET locked_by = 'node-1/1', locked_at = now() - INTERVAL '1 hour' WHERE event_id = '"
                        + id + "'");

        assertFound(doctor(), "lease", "lease of 300 s is over");
    }

    @Test
    void a_transaction_that_pins_the_horizon_is_named() throws Exception {
        try (Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("SELECT pg_current_xact_id()");
            statement.execute("SELECT pg_sleep(1.1)");

            assertFound(doctor("--long-transaction", "1s"), "horizon", "pg_terminate_backend");

            other.rollback();
        }
    }

    @Test
    void dead_rows_are_named() throws Exception {
        shop.execute(
                "ALTER TABLE outbox_event SET (autovacuum_enabled = false)",
                "DELETE FROM outbox_event WHERE event_id LIKE 'done-%'",
                "SELECT pg_stat_force_next_flush()");

        assertFound(doctor(), "bloat", "autovacuum is off");
    }

    @Test
    void a_relay_that_does_not_run_is_named() throws Exception {
        shop.execute(
                "UPDATE outbox_event SET available_at = now() - INTERVAL '2 minutes' WHERE status = 0",
                "UPDATE outbox_event SET done_at = now() - INTERVAL '1 hour' WHERE status = 1 AND event_id NOT LIKE 'done-%'");

        assertFound(doctor(), "relay", "no relay runs");
    }

    @Test
    void an_outbox_that_is_paused_is_named_as_such() throws Exception {
        shop.execute(
                "UPDATE outbox_event SET available_at = now() - INTERVAL '2 minutes' WHERE status = 0",
                "UPDATE outbox_event SET done_at = now() - INTERVAL '1 hour' WHERE status = 1 AND event_id NOT LIKE 'done-%'",
                "INSERT INTO outbox_pause VALUES ('outbox_event', 'OUTBOX', '', now(), 'ada', 'ticket 17')");

        assertFound(doctor(), "relay", "paused since");
    }

    @Test
    void a_missing_migration_is_named() throws Exception {
        shop.execute("DROP TABLE outbox_attempt");

        assertFound(doctor(), "migration", "outbox_attempt");
    }

    @Test
    void a_missing_table_is_named() {
        Run run = Run.of("doctor", "--url", shop.url(), "--table", "org_outbox");

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out()).contains("There is no table org_outbox", "schema apply");
    }
}
