package outbox.cli;

import org.junit.jupiter.api.Test;
import outbox.testing.server.PostgresServer;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The commands that an operator needs, on PostgreSQL. */
class OperatorCommandsTest {

    private static final String NODE = "shop-1:pid-7/01J0000000000000000000000A";

    private final Shop shop = Shop.at(PostgresServer.shared().createDatabase());

    private Run run(String... arguments) {
        return Shop.run(shop.url(), arguments);
    }

    private String writeOf(String aggregate, int status, String error) throws Exception {
        String id = shop.write("order.paid");
        shop.execute("UPDATE outbox_event SET aggregate_type = 'Order', aggregate_id = '" + aggregate + "', status = "
                + status + (status == 3 ? ", done_at = now()" : "") + ", attempts = " + (status == 0 ? 0 : 1)
                + ", last_error = " + (error.isEmpty() ? "NULL" : "'" + error + "'") + " WHERE event_id = '" + id
                + "'");
        return id;
    }

    // ---- pause, resume ----

    @Test
    void a_type_is_paused_shown_and_resumed() throws Exception {
        Run dry = run("pause", "--type", "order.paid", "--table", "outbox_event", "--reason", "down", "--dry-run");
        Run paused = run("pause", "--type", "order.paid", "--table", "outbox_event", "--reason", "down", "--yes");
        Run again = run("pause", "--type", "order.paid", "--table", "outbox_event", "--reason", "down", "--yes");
        Run status = run("status");
        Run resumed = run("resume", "--type", "order.paid", "--table", "outbox_event", "--reason", "up", "--yes");

        assertThat(dry.exitCode()).as(dry.err()).isEqualTo(ExitCode.OK);
        assertThat(paused.exitCode()).as(paused.err()).isEqualTo(ExitCode.OK);
        assertThat(again.err()).contains("Nothing to do: type order.paid of outbox_event is so already");
        assertThat(status.out()).contains("Paused: TYPE order.paid");
        assertThat(resumed.exitCode()).as(resumed.err()).isEqualTo(ExitCode.OK);
        assertThat(run("status").out()).doesNotContain("Paused");
        assertThat(shop.ask("SELECT string_agg(action, ' ' ORDER BY started_at) FROM outbox_audit"))
                .isEqualTo("PAUSE RESUME");
    }

    @Test
    void what_is_paused_must_be_named_and_confirmed() throws Exception {
        Run nothing = run("pause", "--table", "outbox_event", "--reason", "x", "--yes");
        Run two = run("pause", "--all", "--type", "a", "--table", "outbox_event", "--reason", "x", "--yes");
        Run unconfirmed = run("pause", "--all", "--table", "outbox_event", "--reason", "x");

        assertThat(nothing.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(two.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(unconfirmed.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_pause")).isEqualTo("0");
    }

    @Test
    void schema_apply_creates_the_tables_that_the_commands_need() throws Exception {
        Shop bare = Shop.bare(PostgresServer.shared().createDatabase());

        Run applied = Shop.run(bare.url(), "schema", "apply", "--yes");

        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);
        assertThat(bare.ask("SELECT COUNT(*) FROM pg_tables WHERE tablename IN ('outbox_pause', 'outbox_audit')"))
                .isEqualTo("2");
    }

    @Test
    void commands_about_what_a_layout_has_no_place_for_are_refused_by_name() {
        run("schema", "apply", "--table", "org_outbox", "--yes");

        Run pause = run("pause", "--all", "--table", "org_outbox", "--reason", "x", "--yes");
        Run skip = run("skip", "e", "--table", "org_outbox", "--reason", "x", "--yes");
        Run release = run("release", "n", "--table", "org_outbox", "--reason", "x", "--yes");

        assertThat(pause.err()).contains("org_outbox has the layout MODULE, which has no pauses");
        assertThat(skip.err()).contains("org_outbox has the layout MODULE, which has no order");
        assertThat(release.err()).contains("org_outbox has the layout MODULE, which has no names of nodes");
        assertThat(List.of(pause.exitCode(), skip.exitCode(), release.exitCode()))
                .containsOnly(ExitCode.USAGE);
    }

    @Test
    void a_module_s_table_shows_claims_without_names_and_its_events_are_made_due() throws Exception {
        run("schema", "apply", "--table", "org_outbox", "--max-attempts", "25", "--yes");
        shop.execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id, available_at, locked_at) VALUES"
                + " (gen_random_uuid(), 'a.b.v1', '{}', gen_random_uuid(), now() + INTERVAL '1 day', NULL),"
                + " (gen_random_uuid(), 'a.b.v1', '{}', gen_random_uuid(), now() + INTERVAL '1 day', now())");

        Run nodes = run("nodes", "--table", "org_outbox");
        Run due = run("run-now", "--type", "a.b.v1", "--cap", "10", "--table", "org_outbox", "--reason", "x", "--yes");

        assertThat(nodes.out()).as(nodes.err()).containsPattern("\\(the table does not keep it\\) +1 ");
        assertThat(due.out()).as(due.err()).contains("Done: 1 events");
        assertThat(shop.ask("SELECT COUNT(*) FROM org_outbox WHERE available_at <= now()"))
                .isEqualTo("1");
    }

    @Test
    void every_answer_in_json_begins_with_its_version() throws Exception {
        String dead = shop.writeDead("order.paid", "x");

        for (String command : List.of(
                "status",
                "status --pending",
                "status --table outbox_event",
                "list",
                "show " + dead,
                "nodes",
                "blocked",
                "errors",
                "audit",
                "doctor",
                "schema check",
                "reconcile list",
                "replay " + dead + " --table outbox_event --reason x --dry-run",
                "purge --retention 1h --table outbox_event --reason x --dry-run",
                "pause --all --table outbox_event --reason x --dry-run",
                "release n --table outbox_event --reason x --dry-run")) {
            Run run = run((command + " --json").split(" ", -1));

            assertThat(run.out().replaceAll("\\s", "")).as(command + run.err()).startsWith("{\"version\":1,");
        }
    }

    // ---- blocked, skip, audit ----

    @Test
    void a_blocked_aggregate_is_shown_with_its_head_and_goes_on_when_that_is_skipped() throws Exception {
        String dead = writeOf("o-1", 3, "no such account");
        writeOf("o-1", 0, "");
        String failing = writeOf("o-2", 2, "time out");
        writeOf("o-2", 0, "");
        writeOf("o-3", 2, "nobody waits behind it");

        Run blocked = run("blocked", "--json");
        Run skipped = run("skip", dead, "--table", "outbox_event", "--reason", "ticket 17", "--actor", "ada", "--yes");
        Run after = run("blocked");
        Run audit = run("audit");

        assertThat(blocked.out())
                .contains("\"version\" : 1", "\"aggregateId\" : \"o-1\"", dead, "\"head\" : \"DEAD\"")
                .contains("\"aggregateId\" : \"o-2\"", failing, "\"head\" : \"RETRY\"", "\"waiting\" : 1")
                .doesNotContain("o-3");
        assertThat(skipped.exitCode()).as(skipped.err()).isEqualTo(ExitCode.OK);
        assertThat(after.out()).doesNotContain("o-1").contains("o-2");
        assertThat(shop.statusOf(dead)).isEqualTo(3);
        assertThat(audit.out()).contains("SKIP", "ada", "ticket 17", "1 of 1");
    }

    @Test
    void audit_records_of_a_table_are_listed_however_its_schema_is_spelled() throws Exception {
        String id = shop.writeDead("order.paid", "x");
        run("discard", id, "--table", "public.outbox_event", "--reason", "void", "--yes");

        assertThat(run("audit").out()).contains("DISCARD", "void");
        assertThat(run("audit", "--table", "public.outbox_event", "--json").out())
                .contains("\"action\" : \"DISCARD\"");
    }

    // ---- nodes, release ----

    @Test
    void a_node_that_is_silent_with_claims_is_shown_and_its_claims_are_released() throws Exception {
        String held = shop.write("order.paid");
        String others = shop.write("order.paid");
        hold(held, NODE + "/1", "1 hour");
        hold(others, "shop-10:pid-7/01J0000000000000000000000B/1", "1 second");

        Run nodes = run("nodes");
        Run released = run("release", NODE, "--table", "outbox_event", "--reason", "node is gone", "--yes");
        Run alive = run("release", "shop-10:pid-7", "--table", "outbox_event", "--reason", "x", "--yes");

        assertThat(nodes.out()).contains("No session leads outbox_event", NODE, "60m");
        assertThat(released.exitCode()).as(released.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT locked_at < '1972-01-01' AND locked_by IS NOT NULL FROM outbox_event"
                        + " WHERE event_id = '" + held + "'"))
                .isEqualTo("t"); // reported as a suspect
        assertThat(alive.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(alive.err()).contains("it is not gone");
        assertThat(shop.ask("SELECT action || ' ' || affected FROM outbox_audit"))
                .isEqualTo("RELEASE 1");
    }

    private void hold(String id, String token, String ago) throws Exception {
        shop.execute("UPDATE outbox_event SET locked_by = '" + token + "', locked_at = now() - INTERVAL '" + ago
                + "' WHERE event_id = '" + id + "'");
    }

    @Test
    void the_leader_is_named_by_its_session() throws Exception {
        try (var leadership = outbox.jdbc.JdbcLeadership.of(shop.dataSource(), "public.outbox_event")) {
            await().until(leadership::lead);

            Run nodes = run("leader", "--json");

            String pid = shop.ask("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM"
                    + " pg_database WHERE datname = current_database())");
            assertThat(nodes.out()).contains("\"session\" : \"" + pid + "\"", "\"since\" : \"2");
        }
    }

    // ---- errors ----

    @Test
    void dead_events_are_grouped_by_their_errors_and_a_group_is_replayed_or_discarded() throws Exception {
        for (int i = 0; i < 3; i++) {
            shop.writeDead("order.paid", "IllegalState: order " + (4711 + i) + " of 'Ada " + i + "' is closed");
        }
        shop.writeDead("order.placed", "IllegalState: order 1 of 'x' is closed");
        String other = shop.writeDead("order.placed", "ConnectException: refused");

        Run errors = run("errors");
        String closed = fingerprint(errors, "is closed");
        String refused = fingerprint(errors, "refused");
        Run dry = run(
                "errors",
                "replay",
                closed,
                "--table",
                "outbox_event",
                "--cap",
                "10",
                "--rate",
                "5",
                "--reason",
                "x",
                "--dry-run");
        Run noCap = run("errors", "discard", closed, "--table", "outbox_event", "--reason", "x", "--yes");
        Run discarded = run(
                "errors",
                "discard",
                closed,
                "--type",
                "order.paid",
                "--table",
                "outbox_event",
                "--cap",
                "2",
                "--reason",
                "void",
                "--yes");
        Run replayed = run(
                "errors",
                "replay",
                refused,
                "--table",
                "outbox_event",
                "--cap",
                "10",
                "--rate",
                "5",
                "--reason",
                "up again",
                "--yes");

        assertThat(errors.out()).containsPattern(closed + " +4 +order.paid, order.placed");
        assertThat(dry.out()).contains("Rows: 4", "-- of them those whose errors have the fingerprint " + closed);
        assertThat(noCap.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(noCap.err()).contains("--cap");
        assertThat(discarded.out()).as(discarded.err()).contains("Rows: 2 of 3 that match", "Done: 2 events");
        assertThat(replayed.exitCode()).as(replayed.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.statusOf(other)).isZero();
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event WHERE status = 3"))
                .isEqualTo("2");
    }

    private static String fingerprint(Run errors, String text) {
        return errors.out()
                .lines()
                .filter(line -> line.contains(text))
                .findFirst()
                .orElseThrow(() -> new AssertionError(errors.out() + errors.err()))
                .replaceAll(" .*", "");
    }

    // ---- run-now, list ----

    @Test
    void waiting_events_are_made_due_and_keep_their_attempts() throws Exception {
        String retry = writeOf("o-1", 2, "time out");
        String delayed = shop.write("reminder");
        String claimed = shop.write("reminder");
        shop.execute("UPDATE outbox_event SET available_at = now() + INTERVAL '1 day'");
        hold(claimed, NODE + "/1", "1 second");

        Run one = run("run-now", retry, "--table", "outbox_event", "--reason", "x", "--yes");
        Run bulk = run(
                "run-now", "--type", "reminder", "--cap", "10", "--table", "outbox_event", "--reason", "x", "--yes");

        assertThat(one.exitCode()).as(one.err()).isEqualTo(ExitCode.OK);
        assertThat(bulk.exitCode()).as(bulk.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT string_agg(event_id, ',' ORDER BY created_at) FROM outbox_event"
                        + " WHERE available_at <= now()"))
                .isEqualTo(retry + "," + delayed);
        assertThat(shop.ask("SELECT attempts || ' ' || status FROM outbox_event WHERE event_id = '" + retry + "'"))
                .isEqualTo("1 2");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event WHERE event_id = '" + claimed
                        + "' AND locked_by IS NOT NULL AND available_at > now()"))
                .isEqualTo("1");
        assertThat(shop.ask("SELECT string_agg(action, ' ') FROM outbox_audit")).isEqualTo("RUN_NOW RUN_NOW");
    }

    @Test
    void a_list_is_narrowed_by_tenant_and_to_what_is_overdue() throws Exception {
        String ours = shop.write("order.paid");
        String theirs = shop.write("order.paid");
        String later = shop.write("order.paid");
        shop.execute(
                "UPDATE outbox_event SET tenant_id = CASE WHEN event_id = '" + theirs + "' THEN 't2' ELSE 't1' END",
                "UPDATE outbox_event SET available_at = now() + INTERVAL '1 day' WHERE event_id = '" + later + "'");
        shop.writeDone("order.paid");

        Run tenant = run("list", "--tenant", "t2");
        Run overdue = run("list", "--overdue", "--tenant", "t1");

        assertThat(tenant.out()).contains(theirs).doesNotContain(ours, later);
        assertThat(overdue.out()).contains(ours).doesNotContain(theirs, later);
    }

    // ---- status ----

    @Test
    void status_shows_all_outbox_tables_of_the_database() throws Exception {
        shop.execute("CREATE SCHEMA hr", "CREATE TABLE not_an_outbox (event_id TEXT)");
        run("schema", "apply", "--table", "hr.hrm_outbox", "--yes");
        run("schema", "apply", "--table", "org_outbox", "--partitioned", "--yes");
        shop.execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id, available_at) VALUES"
                + " (gen_random_uuid(), 'a.b.v1', '{}', gen_random_uuid(), now() - INTERVAL '1 hour')");
        shop.writeDead("order.paid", "x");

        Run all = run("status");
        Run json = run("status", "--json");
        Run quick = run("status", "--pending");

        assertThat(all.exitCode()).as(all.err()).isEqualTo(ExitCode.OK);
        assertThat(all.out().lines().skip(1).map(line -> line.replaceAll(" .*", "")))
                .containsExactly("hr.hrm_outbox", "org_outbox", "outbox_event");
        assertThat(all.out()).containsPattern("org_outbox +1 +0 +0 +0 +0 +\\S+ +60m +none");
        assertThat(json.out()).contains("\"tables\" : [", "\"overdueSeconds\" : 36");
        assertThat(quick.out()).contains("outbox_event");
    }

    @Test
    void status_watches_until_it_is_interrupted() throws Exception {
        shop.write("order.paid");
        StringWriter out = new StringWriter();
        Io io = new Io(
                new PrintWriter(out, true),
                new PrintWriter(new StringWriter()),
                Map.of(),
                question -> Optional.empty(),
                Clock.systemUTC(),
                new Secrets());
        Thread watching = new Thread(() -> OutboxCommand.commandLine(io)
                .execute("status", "--watch", "100ms", "--table", "outbox_event", "--url", shop.url()));

        watching.start();
        await().until(() -> out.toString().split("1 new", -1).length > 3);
        watching.interrupt();
        watching.join();

        assertThat(out.toString()).contains("outbox_event in");
    }
}
