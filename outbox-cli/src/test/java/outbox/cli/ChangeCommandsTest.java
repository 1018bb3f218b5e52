package outbox.cli;

import org.junit.jupiter.api.Test;
import outbox.admin.EventFilter;
import outbox.cli.doctor.Subject;
import outbox.cli.doctor.TableKind;
import outbox.jdbc.H2EventStore;
import outbox.model.EventStatus;

import java.time.Instant;

import static org.assertj.core.api.Assertions.assertThat;

class ChangeCommandsTest {

    private static final int NEW = 0;
    private static final int DEAD = 3;

    private final Shop shop = Shop.inMemory();

    @Test
    void a_replay_shows_the_statement_and_its_rows_and_changes_nothing_unconfirmed() throws Exception {
        String id = shop.writeDead("order.paid", "time out");

        Run run = Run.of("replay", id, "--table", "outbox_event", "--reason", "ticket 17", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(run.out()).contains("UPDATE outbox_event", id, "Rows: 1");
        assertThat(run.err()).contains("Nothing was changed");
        assertThat(shop.statusOf(id)).isEqualTo(DEAD);
    }

    @Test
    void a_confirmed_replay_happens_and_is_recorded() throws Exception {
        String id = shop.writeDead("order.paid", "time out");

        Run run = Run.of(
                "replay",
                id,
                "--table",
                "outbox_event",
                "--reason",
                "ticket 17",
                "--actor",
                "ada",
                "--yes",
                "--url",
                shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(shop.statusOf(id)).isEqualTo(NEW);
        assertThat(shop.ask("SELECT action || ' ' || actor || ' ' || reason || ' ' || affected FROM outbox_audit"))
                .isEqualTo("REPLAY ada ticket 17 1");
    }

    @Test
    void an_event_that_waits_for_its_next_attempt_is_reset_by_its_id() throws Exception {
        String id = shop.write("order.paid");
        shop.execute("UPDATE outbox_event SET status = 2, attempts = 4, available_at = '2300-01-01 00:00:00'");
        String[] arguments = {"replay", id, "--table", "outbox_event", "--reason", "x", "--yes", "--url", shop.url()};

        Run plain = Run.of(arguments);
        String[] named = java.util.Arrays.copyOf(arguments, arguments.length + 2);
        named[arguments.length] = "--status";
        named[arguments.length + 1] = "RETRY";
        Run reset = Run.of(named);

        assertThat(plain.exitCode()).isEqualTo(ExitCode.PROBLEM); // no dead event has this id
        assertThat(reset.exitCode()).as(reset.err()).isEqualTo(ExitCode.OK);
        assertThat(reset.out()).contains("SET status = 2, attempts = 0", "WHERE status = 2", id);
        assertThat(shop.ask("SELECT attempts FROM outbox_event WHERE available_at < '2200-01-01'"))
                .isEqualTo("0");
    }

    @Test
    void a_person_at_a_terminal_may_confirm_or_not() throws Exception {
        String id = shop.writeDead("order.paid", "time out");
        String[] arguments = {"replay", id, "--table", "outbox_event", "--reason", "ticket 17", "--url", shop.url()};

        Run no = Run.answering("y", arguments);
        int afterNo = shop.statusOf(id);
        Run yes = Run.answering("yes", arguments);

        assertThat(no.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(afterNo).isEqualTo(DEAD);
        assertThat(yes.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(shop.statusOf(id)).isEqualTo(NEW);
    }

    @Test
    void a_dry_run_is_no_failure_and_no_change() throws Exception {
        String id = shop.writeDead("order.paid", "time out");

        Run run = Run.of(
                "replay", id, "--table", "outbox_event", "--reason", "x", "--dry-run", "--json", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("\"rows\" : 1", "\"done\" : false");
        assertThat(shop.statusOf(id)).isEqualTo(DEAD);
    }

    @Test
    void table_and_reason_must_be_named() {
        Run noTable = Run.of("replay", "x", "--reason", "x", "--url", shop.url());
        Run noReason = Run.of("discard", "x", "--table", "outbox_event", "--url", shop.url());

        assertThat(noTable.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(noTable.err()).contains("--table");
        assertThat(noReason.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(noReason.err()).contains("--reason");
    }

    @Test
    void a_bulk_replay_needs_a_filter_a_cap_and_a_rate() {
        assertThat(bulk().err()).contains("Name the events, or give a filter");
        assertThat(bulk("--status", "DEAD").err()).contains("Name the events, or give a filter");
        assertThat(bulk("--type", "order.paid").err()).contains("--cap");
        assertThat(bulk("--type", "order.paid", "--cap", "10").err()).contains("--rate");
        assertThat(bulk("--type", "order.paid", "--cap", "10").exitCode()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void a_bulk_replay_stays_within_its_cap() throws Exception {
        for (int i = 0; i < 5; i++) {
            shop.writeDead("order.paid", "time out");
        }

        Run run = bulk("--type", "order.paid", "--cap", "3", "--rate", "10", "--yes");

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("Rows: 3 of 5 that match", "Done: 3 events");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event WHERE status = 0"))
                .isEqualTo("3");
    }

    private Run bulk(String... more) {
        String[] fixed = {"replay", "--table", "outbox_event", "--reason", "x", "--url", shop.url()};
        String[] all = new String[fixed.length + more.length];
        System.arraycopy(fixed, 0, all, 0, fixed.length);
        System.arraycopy(more, 0, all, fixed.length, more.length);
        return Run.of(all);
    }

    @Test
    void a_request_that_was_made_before_changes_nothing() throws Exception {
        String id = shop.writeDead("order.paid", "time out");
        String[] arguments = {
            "replay", id, "--table", "outbox_event", "--reason", "x", "--request-id", "r1", "--yes", "--url", shop.url()
        };
        Run.of(arguments);
        shop.execute("UPDATE outbox_event SET status = 3, done_at = CURRENT_TIMESTAMP");

        Run again = Run.of(arguments);

        assertThat(again.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(again.out()).contains("Done before: 1 events");
        assertThat(shop.statusOf(id)).isEqualTo(DEAD);
    }

    @Test
    void a_named_event_that_cannot_be_changed_is_a_problem() throws Exception {
        String pending = shop.write("order.paid");

        Run run = Run.of("discard", pending, "--table", "outbox_event", "--reason", "x", "--yes", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(shop.statusOf(pending)).isEqualTo(NEW);
    }

    @Test
    void a_discard_deletes_dead_events_only() throws Exception {
        String dead = shop.writeDead("order.paid", "time out");
        String done = shop.writeDone("order.paid");

        Run run =
                Run.of("discard", dead, done, "--table", "outbox_event", "--reason", "x", "--yes", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event")).isEqualTo("1");
        assertThat(shop.ask("SELECT action FROM outbox_audit")).isEqualTo("DISCARD");
    }

    @Test
    void a_purge_deletes_in_batches_what_is_past_its_retention_and_is_recorded() throws Exception {
        for (int i = 0; i < 5; i++) {
            shop.writeDone("order.paid");
        }
        shop.execute(
                "UPDATE outbox_event SET done_at = DATEADD(DAY, -8, done_at), available_at = DATEADD(DAY, -9, available_at)");
        String fresh = shop.writeDone("order.paid");
        String dead = shop.writeDead("order.paid", "x");

        Run run = Run.of(
                "purge",
                "--table",
                "outbox_event",
                "--retention",
                "168h",
                "--batch-size",
                "2",
                "--reason",
                "x",
                "--yes",
                "--url",
                shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("DELETE FROM outbox_event", "Rows: 5", "Done: 5 events");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event")).isEqualTo("2");
        assertThat(shop.statusOf(fresh)).isEqualTo(1);
        assertThat(shop.statusOf(dead)).isEqualTo(DEAD);
        assertThat(shop.ask("SELECT action || ' ' || affected FROM outbox_audit WHERE finished_at IS NOT NULL"))
                .isEqualTo("PURGE 5");
    }

    @Test
    void a_purge_needs_a_retention_that_is_one() {
        Run negative =
                Run.of("purge", "--table", "outbox_event", "--retention=-1h", "--reason", "x", "--url", shop.url());

        assertThat(negative.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(negative.err()).contains("--retention must be a span of time");
    }

    @Test
    void the_condition_that_is_shown_finds_what_is_meant() throws Exception {
        shop.writeDead("order.paid", "it's 100% o'clock");
        shop.writeDead("order.paid", "it is 100 o'clock");
        EventFilter filter = EventFilter.builder()
                .status(EventStatus.DEAD)
                .eventType("order.paid")
                .errorContains("100% o'")
                .createdFrom(Instant.parse("2020-01-01T00:00:00Z"))
                .createdBefore(Instant.parse("2100-01-01T00:00:00Z"))
                .build();

        String where =
                new ChangeSql(new Subject("h2", "outbox_event", TableKind.EVENT, 25, new H2EventStore())).where(filter);

        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event WHERE " + where)).isEqualTo("1");
    }
}
