package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.ChildJvm;
import outbox.testing.FaultProxy;
import outbox.testing.FaultProxy.Direction;
import outbox.testing.MariaDbServer;
import outbox.testing.PostgresServer;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** No command waits for ever. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TimeLimitTest {

    @Test
    void who_holds_the_lock_is_named_on_postgresql() throws Exception {
        Shop shop = Shop.at(PostgresServer.shared().createDatabase());
        try (Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("SET application_name = 'forgotten'");
            String pid = pidOf(statement);
            statement.execute("LOCK TABLE outbox_event IN ACCESS EXCLUSIVE MODE");

            Run run = Shop.run(shop.url(), "list", "--timeout", "4s");

            assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.FAILED);
            assertThat(run.err())
                    .contains("did not answer within 4s", "session " + pid, "forgotten", "LOCK TABLE outbox_event")
                    .contains("SELECT pg_terminate_backend(" + pid + ")");
        }
    }

    private static String pidOf(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT pg_backend_pid() AS locker")) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void who_holds_the_lock_is_named_on_mariadb() throws Exception {
        Shop shop = Shop.at(MariaDbServer.shared().createDatabase());
        String dead = shop.writeDead("order.paid", "x");
        try (Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("SELECT * FROM outbox_event FOR UPDATE");

            Run run = Shop.run(
                    shop.url(),
                    "discard",
                    dead,
                    "--table",
                    "outbox_event",
                    "--reason",
                    "x",
                    "--yes",
                    "--timeout",
                    "4s");

            assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.FAILED);
            assertThat(run.err()).contains("It waits for a lock of session", "KILL ");
        }
    }

    @Test
    void a_database_that_takes_connections_and_stays_silent_ends_the_command() {
        for (var server : new outbox.testing.DatabaseServer[] {PostgresServer.shared(), MariaDbServer.shared()}) {
            String url = server.createDatabase();
            try (FaultProxy proxy = FaultProxy.to(server)) {
                proxy.blackhole(Direction.TO_CLIENT);

                Run run = Shop.run(proxy.through(url), "status", "--timeout", "2s");

                assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.FAILED);
            }
        }
    }

    @Test
    void a_database_that_falls_silent_ends_the_command() {
        for (var server : new outbox.testing.DatabaseServer[] {PostgresServer.shared(), MariaDbServer.shared()}) {
            Shop shop = Shop.at(server.createDatabase());
            try (FaultProxy proxy = FaultProxy.to(server)) {
                proxy.swallowReplyAfter("last_error");

                Run run = Shop.run(proxy.through(shop.url()), "list", "--timeout", "2s");

                assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.FAILED);
            }
        }
    }

    @Test
    void a_time_limit_must_be_one() {
        Run run = Shop.run(Shop.inMemory().url(), "status", "--timeout", "0s");

        assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("--timeout", "between 1s and 24h");
    }

    @Test
    void a_relay_that_is_told_to_stop_while_the_database_is_silent_ends_at_once() {
        String url = PostgresServer.shared().createDatabase();
        try (FaultProxy proxy = FaultProxy.to(PostgresServer.shared())) {
            proxy.blackhole(Direction.TO_CLIENT);
            try (ChildJvm relay = ChildJvm.of(Main.class)
                    .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                    .arguments(
                            "relay",
                            "--url",
                            proxy.through(url),
                            "--tables",
                            "org_outbox",
                            "--transport",
                            "stdout",
                            "--timeout",
                            "60s",
                            "--drain-time",
                            "5s",
                            "--bind",
                            "127.0.0.1:0")
                    .start()) {
                await().atMost(Duration.ofSeconds(60)).until(() -> proxy.connections() > 0);
                relay.terminate();

                assertThat(relay.waitFor(Duration.ofSeconds(30))).isZero();
                assertThat(relay.lines()).anyMatch(line -> line.contains("told to stop before it had started"));
            }
        }
    }
}
