package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.ChildJvm;
import outbox.testing.fault.FaultProxy;
import outbox.testing.fault.FaultProxy.Direction;
import outbox.testing.server.DatabaseServer;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Every command has a time limit. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("process")
class TimeLimitTest {

    private static final Executor THREADS = task -> new Thread(task, "outbox-test-command").start();

    @Test
    void who_holds_the_lock_is_named_on_postgresql() throws Exception {
        Shop shop = Shop.at(PostgresServer.shared().createDatabase());
        try (Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("SET application_name = 'forgotten'");
            String pid = ask(statement, "SELECT pg_backend_pid() AS locker");
            statement.execute("LOCK TABLE outbox_event IN ACCESS EXCLUSIVE MODE");

            Run run = Shop.run(shop.url(), "list", "--timeout", "4s");

            assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.FAILED);
            assertThat(run.err())
                    .contains("did not answer within 4s", "session " + pid, "forgotten", "LOCK TABLE outbox_event")
                    .contains("SELECT pg_terminate_backend(" + pid + ")")
                    .contains("canceling statement"); // the statement timeout, not the socket timeout
        }
    }

    private static String ask(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void who_holds_the_lock_is_named_on_mariadb() throws Exception {
        assertHolderIsNamed(MariaDbServer.shared());
    }

    /** No other session may wait for locks on this server during the test. */
    static void assertHolderIsNamed(DatabaseServer server) throws Exception {
        Shop shop = Shop.at(server.createDatabase());
        String dead = shop.writeDead("order.paid", "x");
        try (Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            String session = ask(statement, "SELECT CONNECTION_ID()");
            other.setAutoCommit(false);
            statement.execute("SELECT * FROM outbox_event FOR UPDATE");
            long before = lockWaits(statement);

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
            assertThat(run.err()).contains("It waits for a lock of session " + session + " ", "KILL " + session + ".");
            assertThat(run.err()).contains("Lock wait timeout exceeded"); // the lock timeout, not the socket timeout
            assertThat(lockWaits(statement) - before).as("It waits once").isEqualTo(1);
        }
    }

    private static long lockWaits(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")) {
            row.next();
            return row.getLong(2);
        }
    }

    @Test
    void a_database_that_takes_connections_and_stays_silent_ends_the_command() {
        for (DatabaseServer server : List.of(PostgresServer.shared(), MariaDbServer.shared())) {
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
        CompletableFuture<Run> onPostgres = CompletableFuture.supplyAsync(
                () -> listOfSilent(
                        PostgresServer.shared(),
                        "LOCK TABLE outbox_event IN ACCESS EXCLUSIVE MODE",
                        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
                                + " AND wait_event_type = 'Lock'"),
                THREADS);
        Run onMariaDb = listOfSilent(
                MariaDbServer.shared(),
                "LOCK TABLES outbox_event WRITE",
                "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()"
                        + " AND state = 'Waiting for table metadata lock'");

        assertThat(onMariaDb.exitCode()).as(onMariaDb.err()).isEqualTo(ExitCode.FAILED);
        assertThat(onPostgres.join().exitCode()).as(onPostgres.join().err()).isEqualTo(ExitCode.FAILED);
    }

    /** The responses to the statement and to its cancellation are lost, so only the socket timeout remains. */
    private static Run listOfSilent(DatabaseServer server, String lock, String waiting) {
        Shop shop = Shop.at(server.createDatabase());
        try (FaultProxy proxy = FaultProxy.to(server);
                Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute(lock);
            CompletableFuture<Run> run = CompletableFuture.supplyAsync(
                    () -> Shop.run(proxy.through(shop.url()), "list", "--timeout", "2s"), THREADS);
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> run.isDone() || !shop.ask(waiting).equals("0"));
            proxy.blackhole(Direction.TO_CLIENT);
            return run.join();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
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
