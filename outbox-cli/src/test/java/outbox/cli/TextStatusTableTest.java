package outbox.cli;

import org.junit.jupiter.api.Test;

import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;

/** The commands on a table with text statuses, which has no columns for claims and errors. */
class TextStatusTableTest {

    private final Shop shop = Shop.bare("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");

    private void insert(String id, String status) throws Exception {
        shop.execute("""
                INSERT INTO outbox_events (event_id, event_type, aggregate_type, aggregate_id, payload, status, create_time, update_time)
                VALUES ('%s', 'order.paid', 'order', 1, '{}', '%s', LOCALTIMESTAMP, LOCALTIMESTAMP)
                """.formatted(id, status));
    }

    @Test
    void it_is_looked_at_replayed_and_examined() throws Exception {
        Run applied = Run.of("schema", "apply", "--table", "outbox_events", "--yes", "--url", shop.url());
        insert("e1", "FAILED");
        insert("e2", "SENT");

        Run status = Run.of("status", "--table", "outbox_events", "--url", shop.url());
        Run replay = Run.of("replay", "e1", "--table", "outbox_events", "--reason", "x", "--yes", "--url", shop.url());
        Run doctor = Run.of("doctor", "--table", "outbox_events", "--url", shop.url());
        Run shared = Run.of(
                "relay",
                "--tables",
                "outbox_events",
                "--single-active",
                "false",
                "--transport",
                "stdout",
                "--bind",
                "127.0.0.1:0",
                "--url",
                shop.url());

        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);
        assertThat(status.out()).contains("0 new, 0 to retry, 1 dead, 1 done");
        assertThat(replay.exitCode()).as(replay.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT status FROM outbox_events WHERE event_id = 'e1'"))
                .isEqualTo("NEW");
        assertThat(doctor.out()).isEmpty();
        assertThat(shared.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(shared.err()).contains("has no place for claims", "OUTBOX_RELAY_SINGLE_ACTIVE");
    }

    @Test
    void the_doctor_tells_young_events_from_those_that_nobody_takes() throws Exception {
        Run.of("schema", "apply", "--table", "outbox_events", "--yes", "--url", shop.url());
        insert("e1", "SENT");
        insert("e2", "NEW");
        shop.execute("UPDATE outbox_events SET event_type = 'order.lost' WHERE event_id = 'e2'");

        Run young = Run.of("doctor", "--table", "outbox_events", "--url", shop.url());
        shop.execute("UPDATE outbox_events SET create_time = DATEADD('HOUR', -1, create_time) WHERE event_id = 'e2'");
        Run old = Run.of("doctor", "--table", "outbox_events", "--url", shop.url());

        assertThat(young.out()).isEmpty();
        assertThat(old.out()).contains("route: 1 events of the type order.lost", "nobody takes them");
    }
}
