package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.testing.server.DatabaseServer;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests only the checks that all databases have in common; PostgresDoctorTest plants each fault. */
@Tag("mariadb")
@Tag("mysql")
class OtherDoctorTest {

    @Test
    void a_healthy_h2_gets_no_word() throws Exception {
        assertHealthy(Shop.inMemory());
    }

    @Test
    void a_healthy_mariadb_gets_no_word() throws Exception {
        assertHealthy(Shop.at(MariaDbServer.shared().createDatabase()));
    }

    @Test
    void a_healthy_mysql_gets_no_word() throws Exception {
        Run run = assertHealthy(Shop.at(MySqlServer.shared().createDatabase()));

        assertThat(run.err()).contains("were not looked for: performance_schema is off");
    }

    private static Run assertHealthy(Shop shop) throws Exception {
        shop.write("order.placed");
        shop.writeDone("order.placed");

        Run run = Run.of(
                "doctor",
                "--url",
                shop.url(),
                "--types",
                "order.placed",
                "--expect",
                "order,keys,priority,deadlines,pauses,attempts",
                "--without",
                "durability"); // test servers run without durability

        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains("No problem found").doesNotContain("not checked");
        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        return run;
    }

    @Test
    void connections_without_auto_commit_are_named() throws Exception {
        Shop shop = Shop.at(MariaDbServer.shared().createDatabase());
        String url = shop.url() + (shop.url().contains("?") ? "&" : "?") + "autocommit=false";

        Run run = Run.of("doctor", "--url", url);

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out()).contains("transaction: Connections begin with auto-commit off");
    }

    @Test
    void faults_of_h2_are_named() throws Exception {
        Shop shop = Shop.inMemory();
        shop.execute("DROP INDEX outbox_event_due", "DROP TABLE outbox_audit");

        Run run = Run.of("doctor", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out()).contains("index: Table outbox_event has no index for the claim", "no table outbox_audit");
    }

    @Test
    void faults_of_mariadb_are_named() throws Exception {
        assertFaultsAreNamed(MariaDbServer.shared());
    }

    @Test
    void faults_of_mysql_are_named() throws Exception {
        assertFaultsAreNamed(MySqlServer.shared());
    }

    private static void assertFaultsAreNamed(DatabaseServer server) throws Exception {
        Shop shop = Shop.at(server.createDatabase());
        shop.execute("DROP INDEX outbox_event_due ON outbox_event");
        String id = shop.write("order.lost");
        shop.execute(
                "UPDATE outbox_event SET locked_by = 'a', locked_at = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR WHERE event_id = '"
                        + id + "'");

        Run run = Run.of("doctor", "--url", shop.url(), "--types", "order.placed");

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out()).contains("no index for the claim", "lease", "order.lost");
    }

    @Test
    void faults_that_any_database_can_have_are_found_in_h2_too() throws Exception {
        Shop shop = Shop.inMemory();
        shop.write("order.placed");
        shop.execute(
                "UPDATE outbox_event SET available_at = DATEADD('YEAR', 10, available_at)",
                "INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at, done_at)"
                        + " SELECT X, 'order.placed', '{}', 3, LOCALTIMESTAMP, LOCALTIMESTAMP, LOCALTIMESTAMP"
                        + " FROM SYSTEM_RANGE(1, 5000)",
                "ALTER TABLE outbox_event ALTER COLUMN locked_at SET DATA TYPE TIMESTAMP(0)");

        Run run = Run.of("doctor", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out())
                .contains("dead: 5,000 or more events", "future: 1 pending events", "locked_at (0 digits)");
        assertThat(run.err()).doesNotContain("not checked");
        PrintedCommands.run(shop, run);
        assertThat(Run.of("doctor", "--url", shop.url()).out()).doesNotContain("column:");
    }
}
