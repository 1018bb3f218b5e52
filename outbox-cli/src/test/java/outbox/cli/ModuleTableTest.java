package outbox.cli;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.testing.server.PostgresServer;

import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;

/** The commands on the table of a module, which has neither status nor headers. */
class ModuleTableTest {

    private static final String DEAD = "attempts = 25, last_error = 'connection refused'";

    private Shop shop = Shop.inMemory(); // replaced before each test

    @BeforeEach
    void createTable() {
        shop = Shop.bare(PostgresServer.shared().createDatabase());
        run("schema", "apply", "--max-attempts", "25", "--yes");
    }

    private Run run(String... arguments) {
        int first = arguments[0].equals("schema") ? 2 : 1;
        String[] all = new String[arguments.length + 4];
        System.arraycopy(arguments, 0, all, 0, first);
        all[first] = "--table";
        all[first + 1] = "org_outbox";
        all[first + 2] = "--url";
        all[first + 3] = shop.url();
        System.arraycopy(arguments, first, all, first + 4, arguments.length - first);
        return Run.of(all);
    }

    private String insert(String set) throws Exception {
        String id = UUID.randomUUID().toString();
        shop.execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id) VALUES ('" + UUID.randomUUID()
                + "', 'org.organization.created.v1', '{}', '" + id + "')");
        if (!set.isEmpty()) {
            shop.execute("UPDATE org_outbox SET " + set + " WHERE event_id = '" + id + "'");
        }
        return id;
    }

    @Test
    void the_printed_ddl_is_that_of_the_plan() {
        Run run = Run.of("schema", "print", "--store", "postgresql", "--table", "hr.hrm_outbox");

        assertThat(run.out())
                .contains(
                        "CREATE TABLE hr.hrm_outbox (",
                        "CREATE INDEX hrm_outbox_pending_by_available\n  ON hr.hrm_outbox",
                        "outbox_audit");
    }

    @Test
    void it_is_looked_at() throws Exception {
        String pending = insert("");
        String dead = insert(DEAD);
        insert("published_at = now()");

        assertThat(run("status").out()).contains("1 new, 0 to retry, 1 dead, 1 done");
        assertThat(run("list", "--status", "DEAD").out()).contains(dead).doesNotContain(pending);
        assertThat(run("show", dead).out()).contains("connection refused");
        assertThat(run("schema", "check").exitCode()).isEqualTo(ExitCode.OK);
    }

    @Test
    void dead_events_are_replayed() throws Exception {
        String dead = insert(DEAD);

        Run run = run("replay", dead, "--reason", "ticket 17", "--yes");

        assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("published_at IS NULL AND attempts >= 25", "Rows: 1");
        assertThat(shop.ask("SELECT attempts FROM org_outbox")).isEqualTo("0");
        assertThat(shop.ask("SELECT action || ' ' || affected FROM outbox_audit"))
                .isEqualTo("REPLAY 1");
    }

    @Test
    void published_events_are_purged() throws Exception {
        insert("published_at = now() - INTERVAL '8 days'");
        insert("published_at = now()");

        Run run = run("purge", "--retention", "168h", "--reason", "x", "--yes");

        assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT COUNT(*) FROM org_outbox")).isEqualTo("1");
    }

    @Test
    void a_retention_of_zero_purges_nothing_and_tells_what_to_give_instead() throws Exception {
        insert(DEAD);
        insert("published_at = now() - INTERVAL '8 days'");

        Run done = run("purge", "--retention", "0", "--reason", "x", "--yes");
        Run dead = run("purge", "--retention", "1h", "--dead-retention", "0s", "--reason", "x", "--yes");

        assertThat(done.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(done.err()).contains("--retention must be more than 0", "1ms");
        assertThat(dead.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(dead.err()).contains("--dead-retention must be more than 0", "leave it out");
        assertThat(shop.ask("SELECT COUNT(*) FROM org_outbox")).isEqualTo("2");
    }

    @Test
    void the_doctor_is_silent_about_a_healthy_one_and_names_faults() throws Exception {
        insert("");
        insert("published_at = now()");
        Run healthy = run("doctor", "--without", "durability"); // test servers run without durability
        shop.execute("DROP INDEX org_outbox_pending_by_available");
        insert("locked_at = now() - INTERVAL '1 hour'");

        Run ill = run("doctor", "--lease", "60s");

        assertThat(healthy.out()).isEmpty();
        assertThat(healthy.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(ill.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(ill.out()).contains("index: Table org_outbox has no index for the claim", "lease: 1 events");
    }

    @Test
    void the_doctor_names_topics_that_died_for_want_of_a_subscriber() throws Exception {
        insert("attempts = 25, last_error = 'NoSubscriberException: Nobody has subscribed to topic"
                + " org.organization.created.v1 on this event bus.'");

        Run run = run("doctor");

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.out()).contains("route: 1 events of the type org.organization.created.v1 are dead");
    }

    @Test
    void a_name_in_capitals_is_folded_as_in_plain_sql() throws Exception {
        insert("published_at = now() - INTERVAL '8 days'");

        Run applied = Run.of("schema", "apply", "--table", "Org_Outbox", "--yes", "--url", shop.url());
        Run status = Run.of("status", "--table", "Org_Outbox", "--url", shop.url());
        Run doctor = Run.of("doctor", "--table", "PUBLIC.ORG_OUTBOX", "--without", "durability", "--url", shop.url());
        Run purged = Run.of(
                "purge", "--table", "ORG_OUTBOX", "--retention", "1h", "--reason", "x", "--yes", "--url", shop.url());

        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT COUNT(*) FROM pg_class WHERE relname ILIKE 'org_outbox'"))
                .isEqualTo("1");
        assertThat(status.out()).contains("1 done");
        assertThat(doctor.exitCode()).as(doctor.out() + doctor.err()).isEqualTo(ExitCode.OK);
        assertThat(purged.exitCode()).as(purged.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT COUNT(*) FROM org_outbox")).isEqualTo("0");
    }

    @Test
    void a_table_is_made_in_partitions_with_those_of_the_days_ahead() throws Exception {
        Run printed = Run.of("schema", "print", "--store", "postgresql", "--table", "hr.hrm_outbox", "--partitioned");
        Run applied = Run.of("schema", "apply", "--table", "hrm_outbox", "--partitioned", "--yes", "--url", shop.url());
        Run again = Run.of("schema", "apply", "--table", "hrm_outbox", "--partitioned", "--yes", "--url", shop.url());
        Run checked = Run.of("schema", "check", "--table", "hrm_outbox", "--url", shop.url());

        assertThat(printed.out())
                .contains(
                        "PARTITION BY RANGE (created_at)",
                        "CREATE TABLE hr.hrm_outbox_rest PARTITION OF hr.hrm_outbox DEFAULT");
        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);
        assertThat(again.exitCode()).as(again.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'hrm_outbox'::regclass"))
                .isEqualTo("9"); // today, the next seven days, and the default partition
        assertThat(checked.exitCode()).as(checked.out()).isEqualTo(ExitCode.OK);
    }

    @Test
    void partitions_are_refused_where_there_can_be_none() {
        Run there = run("schema", "apply", "--partitioned", "--yes");
        Run event = Run.of("schema", "print", "--store", "postgresql", "--table", "outbox_event", "--partitioned");
        Run h2 = Run.of("schema", "print", "--store", "h2", "--table", "org_outbox", "--partitioned");

        assertThat(there.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(there.err()).contains("org_outbox is there, without partitions");
        assertThat(event.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(h2.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(h2.err()).contains("Only a table of layout MODULE on PostgreSQL can have partitions");
    }
}
