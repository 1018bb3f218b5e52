package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;

import java.util.Arrays;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;

@Tag("mariadb")
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
    void a_dialect_that_is_registered_as_a_service_is_used() {
        String acme = "jdbc:h2:mem:acme" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";

        Run printed = Run.of("schema", "print", "--store", "acme", "--table", "orders");
        Run applied = Run.of("schema", "apply", "--yes", "--url", acme);
        Run checked = Run.of("schema", "check", "--url", acme);

        assertThat(printed.out()).contains("CREATE TABLE IF NOT EXISTS orders (");
        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);
        assertThat(checked.exitCode()).as(checked.out()).isEqualTo(ExitCode.OK);
    }

    @ParameterizedTest
    @EnumSource(Server.class)
    void what_is_printed_for_the_way_down_takes_back_what_was_applied(Server server) throws Exception {
        Shop shop = Shop.bare(server.url());
        String[] features = {"--with", "order,keys,priority,deadlines,attempts", "--url", shop.url()};
        Run applied = Run.of(all(features, "schema", "apply", "--yes"));
        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);

        Run down = Run.of(all(features, "schema", "print", "--down"));

        assertThat(down.out()).contains("-- DROP TABLE IF EXISTS outbox_audit;");
        for (String statement : down.out().replaceAll("--[^\n]*", "").split(";", -1)) {
            if (!statement.isBlank()) {
                shop.execute(statement);
            }
        }
        Run missing = Run.of("schema", "check", "--url", shop.url());
        assertThat(missing.out()).contains("There is no table outbox_event");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_audit")).isEqualTo("0"); // other tables may use it
        Run again = Run.of(all(features, "schema", "apply", "--yes"));
        assertThat(again.exitCode()).as(again.err()).isEqualTo(ExitCode.OK);
    }

    @Test
    void the_way_down_of_a_modules_table_drops_that_table_alone() throws Exception {
        Shop shop = Shop.bare(Server.POSTGRES.url());
        Run.of("schema", "apply", "--table", "org_outbox", "--yes", "--url", shop.url());

        Run down = Run.of("schema", "print", "--table", "org_outbox", "--down", "--store", "postgresql");

        assertThat(down.out().lines().filter(line -> line.startsWith("DROP")))
                .containsExactly("DROP TABLE IF EXISTS org_outbox;");
        shop.execute("DROP TABLE IF EXISTS org_outbox");
        assertThat(shop.ask("SELECT COUNT(*) FROM pg_class WHERE relname LIKE 'org_outbox%'"))
                .isEqualTo("0"); // indexes and sequence are dropped with the table
    }

    /** The databases on which the down script runs. */
    enum Server {
        H2,
        POSTGRES,
        MARIADB;

        String url() {
            return switch (this) {
                case H2 -> "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
                case POSTGRES -> PostgresServer.shared().createDatabase();
                case MARIADB -> MariaDbServer.shared().createDatabase();
            };
        }
    }

    private static String[] all(String[] last, String... first) {
        String[] all = Arrays.copyOf(first, first.length + last.length);
        System.arraycopy(last, 0, all, first.length, last.length);
        return all;
    }

    @Test
    void apply_asks_then_check_finds_nothing_missing() {
        Run unconfirmed = Run.of("schema", "apply", "--url", url);
        Run missing = Run.of("schema", "check", "--url", url);
        Run applied = Run.answering("yes", "schema", "apply", "--with", "pauses", "--url", url);
        Run complete = Run.of("schema", "check", "--with", "pauses", "--url", url);
        Run more = Run.of("schema", "check", "--with", "attempts,keys,deadlines", "--url", url);

        assertThat(unconfirmed.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(missing.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(missing.out()).contains("There is no table outbox_event");
        assertThat(applied.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(complete.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(more.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(more.out()).contains("outbox_attempt", "expires_at", "outbox_key");
    }
}
