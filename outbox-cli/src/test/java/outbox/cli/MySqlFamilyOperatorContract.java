package outbox.cli;

import org.junit.jupiter.api.Test;
import outbox.jdbc.JdbcLeadership;
import outbox.testing.server.DatabaseServer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The operator commands whose SQL is different on MariaDB and MySQL. */
abstract class MySqlFamilyOperatorContract {

    private final Shop shop;

    MySqlFamilyOperatorContract(DatabaseServer server) {
        shop = Shop.at(server.createDatabase());
    }

    private Run run(String... arguments) {
        return Shop.run(shop.url(), arguments);
    }

    @Test
    void the_leader_is_named_by_its_connection_and_status_shows_all_tables() throws Exception {
        Run applied = run("schema", "apply", "--table", "outbox_events", "--layout", "TEXT_STATUS", "--yes");
        try (JdbcLeadership leadership = JdbcLeadership.of(shop.dataSource(), "outbox_event")) {
            await().until(leadership::lead);

            Run nodes = run("nodes", "--json");
            Run status = run("status");

            assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);
            assertThat(nodes.out()).as(nodes.err()).containsPattern("\"session\" : \"\\d+\"");
            assertThat(status.out()).as(status.err()).contains("outbox_event ", "outbox_events ");
        }
        assertThat(run("nodes").out()).contains("No session leads outbox_event");
    }

    @Test
    void claims_are_released_events_made_due_and_errors_grouped() throws Exception {
        String held = shop.write("order.paid");
        String waiting = shop.write("order.paid");
        shop.writeDead("order.paid", "no such account 4711");
        shop.writeDead("order.paid", "no such account 4712");
        shop.execute(
                "UPDATE outbox_event SET locked_by = 'n1/a/1', locked_at = NOW(6) - INTERVAL 1 HOUR WHERE event_id = '"
                        + held + "'",
                "UPDATE outbox_event SET available_at = available_at + INTERVAL 1 DAY WHERE event_id = '" + waiting
                        + "'");

        Run released = run("release", "n1", "--table", "outbox_event", "--reason", "gone", "--yes");
        Run due = run("run-now", waiting, "--table", "outbox_event", "--reason", "x", "--yes");
        Run overdue = run("list", "--overdue");
        Run errors = run("errors");
        Run paused = run("pause", "--all", "--table", "outbox_event", "--reason", "x", "--yes");
        Run audit = run("audit");

        assertThat(released.exitCode()).as(released.err()).isEqualTo(ExitCode.OK);
        assertThat(due.exitCode()).as(due.err()).isEqualTo(ExitCode.OK);
        assertThat(overdue.out()).contains(held, waiting);
        assertThat(errors.out()).containsPattern("[0-9a-f]{12} +2 +order\\.paid");
        assertThat(paused.exitCode()).as(paused.err()).isEqualTo(ExitCode.OK);
        assertThat(audit.out()).contains("RELEASE", "RUN_NOW", "PAUSE");
    }
}
