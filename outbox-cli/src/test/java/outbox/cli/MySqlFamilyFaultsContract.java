package outbox.cli;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.DatabaseServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static outbox.cli.Findings.assertFound;
import static outbox.cli.Findings.assertSilent;
import static outbox.cli.Findings.checks;

/**
 * Plants faults one by one into a healthy outbox on a durable server. The server is private, because some faults are
 * settings of the server.
 */
@Timeout(300)
@TestInstance(Lifecycle.PER_CLASS)
@Tag("process")
abstract class MySqlFamilyFaultsContract {

    private static final Duration LONG = Duration.ofSeconds(90);

    /** As many rows as the following LIMIT. No recursive query, because some settings limit its depth. */
    private static final String ROWS = " FROM information_schema.collations a, information_schema.collations b LIMIT ";

    private final DatabaseServer server;
    private final String plainEngine;

    /**
     * Creates the tests.
     *
     * @param server with innodb-flush-log-at-trx-commit = 1; closed after all tests
     * @param plainEngine a table engine without transactions
     */
    MySqlFamilyFaultsContract(DatabaseServer server, String plainEngine) {
        this.server = server;
        this.plainEngine = plainEngine;
    }

    final DatabaseServer server() {
        return server;
    }

    @AfterAll
    void stopServer() {
        server.close();
    }

    private Shop healthy() throws SQLException {
        Shop shop = Shop.at(server.createDatabase());
        for (int i = 0; i < 3; i++) {
            shop.writeDone("order.placed");
            shop.write("order.placed");
        }
        return shop;
    }

    private static Run doctor(String url) {
        return Run.of("doctor", "--url", url);
    }

    Stream<Fault> faults() {
        return Stream.of(
                Fault.of(
                        "dead events",
                        "dead",
                        "5,000 or more events of outbox_event are dead",
                        "INSERT INTO outbox_event (event_id, event_type, payload, status, attempts,"
                                + " available_at, created_at,"
                                + " done_at, last_error) SELECT UUID(), 'order.placed', '{}', 3, 25,"
                                + " UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6),"
                                + " CONCAT('ConnectException: port ', a.id * 1000 + b.id)" + ROWS + 5000),
                Fault.of(
                        "commits that are lost with the server",
                        "durability",
                        "innodb_flush_log_at_trx_commit = 0: when the server crashes",
                        "SET GLOBAL innodb_flush_log_at_trx_commit = 0"),
                Fault.of(
                        "commits that are lost with the machine",
                        "durability",
                        "innodb_flush_log_at_trx_commit = 2: when the machine crashes",
                        "SET GLOBAL innodb_flush_log_at_trx_commit = 2"),
                Fault.of(
                        "a side table without transactions",
                        "durability",
                        "Table outbox_audit has the engine " + plainEngine,
                        "ALTER TABLE outbox_audit ENGINE = " + plainEngine),
                Fault.of(
                        "a trigger that undoes updates",
                        "trigger",
                        "(BEFORE UPDATE)",
                        "CREATE TRIGGER `it's` BEFORE UPDATE ON outbox_event FOR EACH ROW SET NEW.status ="
                                + " OLD.status"),
                Fault.of(
                        "claims that are rounded to seconds",
                        "column",
                        "locked_at (0 digits)",
                        "ALTER TABLE outbox_event MODIFY locked_at DATETIME"),
                Fault.of(
                        "a due time that each update changes",
                        "column",
                        "ON UPDATE CURRENT_TIMESTAMP at available_at",
                        "ALTER TABLE outbox_event MODIFY available_at DATETIME(6) NOT NULL DEFAULT"
                                + " CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)"),
                Fault.of(
                        "events that are due in ten years",
                        "future",
                        "3 pending events",
                        "UPDATE outbox_event SET available_at = UTC_TIMESTAMP(6) + INTERVAL 10 YEAR WHERE status = 0"),
                Fault.of(
                        "a number that leaves no room",
                        "sequence",
                        "of 9223372036854775807 numbers",
                        "ALTER TABLE outbox_event AUTO_INCREMENT = 9223372036854775000"),
                Fault.of(
                        "numbers that a column cannot keep for long",
                        "sequence",
                        "of 2147483647 numbers",
                        "ALTER TABLE outbox_event MODIFY seq INT NOT NULL AUTO_INCREMENT, AUTO_INCREMENT ="
                                + " 2000000000"),
                Fault.of(
                        "ids that may come twice",
                        "index",
                        "has no unique index for finding an event by its id",
                        "ALTER TABLE outbox_event DROP PRIMARY KEY, ADD INDEX (event_id)"),
                Fault.of(
                        "values that are cut",
                        "transaction",
                        "The server's sql_mode has no STRICT_TRANS_TABLES",
                        "SET GLOBAL sql_mode = 'NO_ENGINE_SUBSTITUTION'"));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void a_fault_is_found_and_what_is_printed_runs(Fault fault) throws Exception {
        Shop shop = healthy();
        shop.execute(fault.statements().toArray(String[]::new));

        Run run = doctor(shop.url());

        assertFound(run, fault.check(), fault.words());
        if (PrintedCommands.run(shop, run) && !PrintedCommands.of(run).isEmpty()) {
            assertSilent(doctor(shop.url()));
        }
    }

    @Test
    void a_missing_privilege_is_named_and_not_taken_for_a_missing_relay() throws Exception {
        Shop shop = healthy();
        shop.execute("UPDATE outbox_event SET available_at = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR, created_at ="
                + " UTC_TIMESTAMP(6) - INTERVAL 1 HOUR, done_at = IF(done_at IS NULL, NULL, UTC_TIMESTAMP(6) -"
                + " INTERVAL 1 HOUR)");
        String user = "user_" + UUID.randomUUID().toString().substring(0, 8);
        String url = shop.url().replace("user=root", "user=" + user);
        String account = "'" + user + "'@'localhost'";
        shop.execute("CREATE USER " + account, "GRANT PROCESS ON *.* TO " + account);
        for (String table : List.of("outbox_event", "outbox_audit", "outbox_pause", "outbox_attempt", "outbox_key")) {
            shop.execute("GRANT SELECT, INSERT, DELETE ON " + table + " TO " + account);
        }
        shop.execute("GRANT UPDATE ON outbox_audit TO " + account);

        Run run = doctor(url);
        shop.execute("REVOKE SELECT ON outbox_event FROM " + account);
        Run blind = doctor(url);

        assertThat(checks(run)).as(run.out() + run.err()).containsExactly("privilege", "relay");
        assertThat(run.out())
                .contains("has no privilege UPDATE on outbox_event")
                .contains("may not UPDATE the table")
                .doesNotContain("no relay runs");
        assertThat(blind.exitCode()).as(blind.err()).isEqualTo(ExitCode.PROBLEM);
        assertThat(checks(blind)).containsExactly("privilege");
        assertThat(blind.out()).contains("has no privilege SELECT, UPDATE on outbox_event");
        PrintedCommands.run(shop, blind);
        assertThat(checks(doctor(url))).containsExactly("relay");
    }

    @Test
    void a_connection_that_others_wait_for_is_named() throws Exception {
        Shop shop = healthy();
        try (Connection other = shop.connect();
                Statement statement = other.createStatement();
                Connection waiting = shop.connect();
                Statement waiter = waiting.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("UPDATE outbox_event SET last_error = 'secret' WHERE status = 0");
            CompletableFuture<Integer> update = CompletableFuture.supplyAsync(() -> {
                try {
                    return waiter.executeUpdate("UPDATE outbox_event SET last_error = NULL WHERE status = 0");
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            await().atMost(LONG)
                    .until(() -> !shop.ask("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE"
                                    + " trx_wait_started < NOW() - INTERVAL 4 SECOND")
                            .equals("0"));

            Run run = doctor(shop.url());

            other.rollback();
            assertThat(update.get()).isEqualTo(3);
            assertFound(run, "blocker", "keeps 1 connections waiting for table outbox_event");
            assertThat(PrintedCommands.of(run)).hasSize(1).allMatch(sql -> sql.matches("KILL [0-9]+;"));
        }
    }

    @Test
    void a_table_that_is_locked_does_not_keep_the_doctor() throws Exception {
        Shop shop = healthy();
        try (Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            statement.execute("LOCK TABLES outbox_event WRITE");

            Run run = doctor(shop.url());

            statement.execute("UNLOCK TABLES");
            assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.PROBLEM);
            assertThat(checks(run)).containsExactly("blocker");
            assertThat(run.out()).contains("Table outbox_event could not be read");
        }
    }

    @Test
    void a_running_relay_gets_no_word_while_and_after_it_delivers_thousands_of_events() throws Exception {
        Shop shop = healthy();
        assertSilent(doctor(shop.url()));
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = ChildJvm.of(Main.class)
                        .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                        .arguments(
                                "relay",
                                "--url",
                                shop.url(),
                                "--tables",
                                "outbox_event",
                                "--bind",
                                "127.0.0.1:0",
                                "--http-endpoint",
                                receiver.url())
                        .start()) {
            relay.awaitLine("health at http://", LONG);
            for (int i = 0; i < 2; i++) {
                shop.execute(
                        "INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)"
                                + " SELECT UUID(), 'order.placed', '{}', 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)"
                                + ROWS + 1000);
                assertSilent(doctor(shop.url()));
            }
            await().atMost(LONG)
                    .until(() -> shop.ask("SELECT COUNT(*) FROM outbox_event WHERE status <> 1")
                            .equals("0"));

            assertSilent(doctor(shop.url()));
        }
    }
}
