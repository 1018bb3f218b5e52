package outbox.cli;

import org.junit.jupiter.api.Test;

import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;

class SchemaCommandTest {

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";

    @Test
    void print_needs_no_connection() {
        Run run = Run.of("schema", "print", "--store", "postgresql", "--table", "billing.orders", "--with", "order");

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out())
                .contains("CREATE TABLE IF NOT EXISTS billing.orders (", "billing.outbox_audit", "orders_order");
    }

    @Test
    void apply_asks_then_check_finds_nothing_missing() {
        Run unconfirmed = Run.of("schema", "apply", "--url", url);
        Run missing = Run.of("schema", "check", "--url", url);
        Run applied = Run.answering("yes", "schema", "apply", "--with", "pauses", "--url", url);
        Run complete = Run.of("schema", "check", "--with", "pauses", "--url", url);
        Run more = Run.of("schema", "check", "--with", "attempts,control", "--url", url);

        assertThat(unconfirmed.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(missing.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(missing.out()).contains("There is no table outbox_event");
        assertThat(applied.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(complete.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(more.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(more.out()).contains("outbox_attempt", "expires_at");
    }
}
