package outbox.cli;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static outbox.cli.Findings.assertFound;
import static outbox.cli.Findings.assertSilent;
import static outbox.cli.Findings.checks;

/** Plants faults one by one into a healthy outbox on a durable PostgreSQL server. */
@Timeout(300)
@Tag("process")
class PlantedFaultsTest {

    private static final Duration LONG = Duration.ofSeconds(90);
    private static final String SWALLOW = """
            CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'
            """;

    private static PostgresServer server = PostgresServer.shared(); // replaced before all tests

    @BeforeAll
    static void startServer() {
        server =
                PostgresServer.start(Map.of("fsync", "on", "full_page_writes", "on", "max_prepared_transactions", "5"));
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private static Run doctor(Shop shop, String table, String... more) {
        return doctorAt(shop.url(), table, more);
    }

    private static Run doctorAt(String url, String table, String... more) {
        List<String> arguments = new ArrayList<>(List.of("doctor", "--url", url, "--table", table));
        arguments.addAll(List.of(more));
        return Run.of(arguments.toArray(String[]::new));
    }

    /** Faults that any table can have. */
    static Stream<Fault> faultsOfAnyTable() {
        Fault[] faults = {
            Fault.of("dead events", "dead", "5,000 or more events of ", "$many", "UPDATE $table SET $dead"),
            Fault.of("an unlogged table", "durability", "is UNLOGGED", "ALTER TABLE $table SET UNLOGGED"),
            Fault.of(
                    "a trigger that swallows updates",
                    "trigger",
                    "it may swallow or change claims and marks",
                    SWALLOW,
                    "CREATE TRIGGER \"it's\" BEFORE UPDATE ON $table FOR EACH ROW EXECUTE FUNCTION swallow()"),
            Fault.of(
                    "a rule that swallows updates",
                    "trigger",
                    "a rule that runs instead",
                    "CREATE RULE nothing AS ON UPDATE TO $table DO INSTEAD NOTHING"),
            Fault.of(
                    "events that are due in ten years",
                    "future",
                    "3 pending events",
                    "UPDATE $table SET $due = now() + INTERVAL '10 years' WHERE $pending"),
            Fault.of(
                    "an event that is never due",
                    "future",
                    "infinity",
                    "UPDATE $table SET $due = 'infinity' WHERE event_id IN (SELECT event_id FROM $table WHERE"
                            + " $pending LIMIT 1)"),
            Fault.of(
                    "an event that was written before all time",
                    "future",
                    "-infinity",
                    "UPDATE $table SET $created = '-infinity' WHERE event_id IN (SELECT event_id FROM $table"
                            + " WHERE $pending LIMIT 1)"),
            Fault.of(
                    "a sequence near its end",
                    "sequence",
                    "of 9223372036854775807 numbers",
                    "SELECT setval('$sequence', 9223372036854775000)"),
            Fault.of(
                    "numbers that a column cannot keep for long",
                    "sequence",
                    "of 2147483647 numbers",
                    "ALTER TABLE $table ALTER COLUMN $numbers TYPE INT",
                    "SELECT setval('$sequence', 2000000000)"),
            Fault.of("a sequence that was set back", "sequence", "stands at 1, but", "SELECT setval('$sequence', 1)"),
            Fault.of(
                    "a table that is never vacuumed",
                    "bloat",
                    "Autovacuum is off for table",
                    "ALTER TABLE $table SET (autovacuum_enabled = off)"),
            Fault.of(
                    "ids that may come twice",
                    "index",
                    "has no unique index for finding an event by its id",
                    "ALTER TABLE $table DROP CONSTRAINT $unique",
                    "CREATE INDEX ON $table (event_id)"),
        };
        return Arrays.stream(faults)
                .flatMap(fault -> Arrays.stream(FaultTable.values())
                        .map(table -> new Fault(
                                        fault.title(),
                                        fault.statements().stream()
                                                .map(sql -> sql.replace("$many", table.insert(5_000))
                                                        .replace("$pending", table.pending()))
                                                .toList(),
                                        fault.check(),
                                        fault.words())
                                .at(table)));
    }

    @ParameterizedTest
    @MethodSource("faultsOfAnyTable")
    void a_fault_of_any_table_is_found_and_what_is_printed_runs(Fault fault) throws Exception {
        FaultTable table = Arrays.stream(FaultTable.values())
                .filter(each -> fault.title().endsWith(" in " + each.name()))
                .findFirst()
                .orElseThrow();
        plantAndRepair(fault, table);
    }

    /**
     * Plants a fault, finds it, and runs the printed commands. If all of them were SQL, the fault must be gone
     * afterwards.
     */
    private static void plantAndRepair(Fault fault, FaultTable table) throws Exception {
        Shop shop = table.create(server.createDatabase());
        shop.execute(fault.statements().toArray(String[]::new));

        Run run = doctor(shop, table.table());

        assertFound(run, fault.check(), fault.words());
        if (PrintedCommands.run(shop, run) && !PrintedCommands.of(run).isEmpty()) {
            assertSilent(doctor(shop, table.table()));
        }
    }

    /** Faults that only one kind of table can have. */
    static Stream<Fault> faultsOfEvents() {
        return Stream.of(
                Fault.of(
                        "claims that are rounded to seconds",
                        "column",
                        "locked_at (0 digits)",
                        "ALTER TABLE outbox_event ALTER COLUMN locked_at TYPE TIMESTAMPTZ(0)"),
                Fault.of(
                        "a claim of the future",
                        "future",
                        "held by a claim of the future",
                        "UPDATE outbox_event SET locked_by = 'x', locked_at = 'infinity' WHERE status = 0"),
                Fault.of(
                        "an unlogged side table",
                        "durability",
                        "Table outbox_audit is UNLOGGED",
                        "ALTER TABLE outbox_audit SET UNLOGGED"),
                Fault.of(
                        "a part of the table that belongs to somebody else",
                        "owner",
                        "Table outbox_event_part belongs to",
                        "DO $$ BEGIN CREATE ROLE \"some body\"; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                        "CREATE TABLE outbox_event_part () INHERITS (outbox_event)",
                        "ALTER TABLE outbox_event_part OWNER TO \"some body\""),
                Fault.of(
                        "a sequence that starts again",
                        "sequence",
                        "starts again at its end",
                        "ALTER SEQUENCE outbox_event_numbers CYCLE"),
                Fault.of(
                        "an index that was left invalid",
                        "index",
                        "is invalid",
                        "CREATE INDEX odd ON outbox_event (tenant_id)",
                        "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'odd'::regclass"));
    }

    @ParameterizedTest
    @MethodSource("faultsOfEvents")
    void a_fault_of_the_shipped_table_is_found_and_what_is_printed_runs(Fault fault) throws Exception {
        plantAndRepair(fault, FaultTable.EVENT);
    }

    @Test
    void claims_of_a_module_that_are_rounded_to_seconds_are_found() throws Exception {
        plantAndRepair(
                Fault.of(
                        "rounded",
                        "column",
                        "locked_at (0 digits)",
                        "ALTER TABLE org_outbox ALTER COLUMN locked_at TYPE TIMESTAMPTZ(0)"),
                FaultTable.MODULE);
    }

    @Test
    void a_default_in_local_time_is_found() throws Exception {
        Shop shop = FaultTable.TEXT_STATUS.create(server.createDatabase());
        shop.execute("ALTER TABLE outbox_events ALTER COLUMN create_time SET DEFAULT now()");
        TimeZone before = TimeZone.getDefault();
        TimeZone.setDefault(TimeZone.getTimeZone("Asia/Shanghai")); // the driver sets it in its sessions
        try {
            Run run = doctor(shop, "outbox_events");
            PrintedCommands.run(shop, run);
            Run after = doctor(shop, "outbox_events");

            assertFound(run, "column", "a default that gives the time of the session's zone, which is Asia/Shanghai");
            assertSilent(after);
        } finally {
            TimeZone.setDefault(before);
        }
    }

    @Test
    void commits_that_do_not_wait_for_the_disk_are_found_wherever_they_are_set() throws Exception {
        Shop shop = FaultTable.EVENT.create(server.createDatabase());
        String database = shop.ask("SELECT current_database()");
        String role = role(shop, "SELECT, INSERT, UPDATE, DELETE");

        shop.execute("ALTER ROLE " + role + " IN DATABASE " + database + " SET synchronous_commit = off");
        Run ofRole = doctor(shop, "outbox_event");
        PrintedCommands.run(shop, ofRole);
        shop.execute("ALTER DATABASE " + database + " SET synchronous_commit = off");
        Run ofDatabase = doctor(shop, "outbox_event");
        PrintedCommands.run(shop, ofDatabase);
        Run ofUrl = doctorAt(shop.url() + "&options=-c%20synchronous_commit=off", "outbox_event");

        assertFound(ofRole, "durability", "synchronous_commit is off for ROLE \"" + role + "\" IN DATABASE");
        assertFound(ofDatabase, "durability", "synchronous_commit is off for DATABASE");
        assertFound(ofUrl, "durability", "or for the URL of this connection");
        assertSilent(doctor(shop, "outbox_event"));
    }

    @Test
    void a_server_that_does_not_wait_for_the_disk_is_found() throws Exception {
        Shop shop = FaultTable.EVENT.create(PostgresServer.shared().createDatabase());

        Run run = doctor(shop, "outbox_event");

        assertFound(run, "durability", "fsync = off");
        assertThat(PrintedCommands.of(run)).contains("ALTER SYSTEM SET fsync = on;");
        assertSilent(doctor(shop, "outbox_event", "--without", "durability"));
    }

    private static String role(Shop shop, String privileges) throws SQLException {
        String role = "role_" + UUID.randomUUID().toString().substring(0, 8);
        shop.execute(
                "CREATE ROLE " + role + " LOGIN",
                "GRANT " + privileges + " ON ALL TABLES IN SCHEMA public TO " + role,
                "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO " + role);
        return role;
    }

    private static String as(Shop shop, String role) {
        return shop.url().replace("user=postgres", "user=" + role);
    }

    @ParameterizedTest
    @EnumSource(FaultTable.class)
    void a_missing_privilege_is_named_and_not_taken_for_a_missing_relay(FaultTable table) throws Exception {
        Shop shop = table.create(server.createDatabase());
        shop.execute(table.fill(
                "UPDATE $table SET $due = now() - INTERVAL '1 hour', $created = now() - INTERVAL '1" + " hour'"));
        if (table == FaultTable.TEXT_STATUS) {
            shop.execute("UPDATE outbox_events SET update_time = now() - INTERVAL '1 hour'");
        } else {
            shop.execute(
                    table == FaultTable.EVENT
                            ? "UPDATE outbox_event SET done_at = now() - INTERVAL '1 hour' WHERE status = 1"
                            : "UPDATE org_outbox SET published_at = now() - INTERVAL '1 hour' WHERE"
                                    + " published_at IS NOT NULL");
        }
        String writer = role(shop, "SELECT, INSERT, DELETE");

        Run run = doctorAt(as(shop, writer), table.table());
        Run byAnother;
        try (Connection connected = DriverManager.getConnection(as(shop, writer))) {
            byAnother = doctor(shop, table.table());
            assertThat(connected.isValid(10)).isTrue();
        }

        assertThat(checks(run)).containsExactly("privilege", "relay");
        assertThat(run.out())
                .contains("User \"" + writer + "\" has no privilege UPDATE on " + table.table())
                .contains("may not UPDATE the table: a relay that connects as this user can take no event")
                .doesNotContain("no relay runs");
        assertThat(byAnother.out()).contains("who are connected and may not UPDATE the table: " + writer);
        PrintedCommands.run(shop, run);
        assertThat(checks(doctorAt(as(shop, writer), table.table()))).containsExactly("relay");
    }

    @Test
    void a_user_who_may_not_read_the_table_is_told_so_and_the_rest_is_checked() throws Exception {
        Shop shop = FaultTable.MODULE.create(server.createDatabase());
        String role = role(shop, "UPDATE, DELETE");
        shop.execute("ALTER TABLE org_outbox SET UNLOGGED");

        Run run = doctorAt(as(shop, role), "org_outbox");

        assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.PROBLEM);
        assertThat(checks(run)).containsExactly("privilege", "durability");
        assertThat(run.out()).contains("has no privilege SELECT on org_outbox");
        assertThat(run.err()).contains("not checked: migration", "permission denied");
    }

    @Test
    void a_user_who_only_looks_gets_no_word_about_it() throws Exception {
        Shop shop = FaultTable.EVENT.create(server.createDatabase());

        assertSilent(doctorAt(as(shop, role(shop, "SELECT")), "outbox_event"));
    }

    @Test
    void row_level_security_is_found_where_it_hides_events() throws Exception {
        Shop shop = FaultTable.MODULE.create(server.createDatabase());
        String relay = role(shop, "SELECT, INSERT, UPDATE, DELETE");
        shop.execute("ALTER TABLE org_outbox ENABLE ROW LEVEL SECURITY");

        Run run = doctorAt(as(shop, relay), "org_outbox");
        Run byOwner = doctor(shop, "org_outbox");
        Run byAnother;
        try (Connection connected = DriverManager.getConnection(as(shop, relay))) {
            byAnother = doctor(shop, "org_outbox");
            assertThat(connected.isValid(10)).isTrue();
        }

        assertFound(run, "rls", "Row-level security of org_outbox applies to user \"" + relay + "\"");
        assertFound(byAnother, "rls", "applies to user \"" + relay + "\"");
        assertSilent(byOwner);
        PrintedCommands.run(shop, run);
        assertSilent(doctorAt(as(shop, relay), "org_outbox"));
    }

    @Test
    void a_prepared_transaction_is_ended_by_the_printed_command_whatever_its_name() throws Exception {
        Shop shop = FaultTable.EVENT.create(server.createDatabase());
        try (Connection connection = shop.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("SELECT pg_current_xact_id()");
            statement.execute("PREPARE TRANSACTION E'it''s \\\\ x\\n; DROP TABLE outbox_event'");
        }

        Run run = doctor(shop, "outbox_event", "--long-transaction", "1ms");

        assertFound(run, "horizon", "Prepared transaction it's \\ x ; DROP TABLE outbox_event waits since");
        PrintedCommands.run(shop, run);
        assertThat(shop.ask("SELECT COUNT(*) FROM pg_prepared_xacts")).isEqualTo("0");
    }

    @Test
    void a_session_that_has_the_table_locked_is_named_and_does_not_keep_the_doctor() throws Exception {
        Shop shop = FaultTable.MODULE.create(server.createDatabase());
        try (Connection other = shop.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("SET application_name = 'forgotten migration'");
            statement.execute("LOCK TABLE org_outbox");

            Run run = doctor(shop, "org_outbox");

            assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
            assertThat(checks(run)).containsExactly("blocker");
            assertThat(run.out())
                    .contains("forgotten migration, idle in transaction", "lock on the whole table org_outbox")
                    .contains("Its last statement: LOCK TABLE org_outbox");
            assertThat(run.err()).contains("not checked: migration");
            other.rollback();
        }
    }

    @Test
    void a_session_that_others_wait_for_is_named_with_its_statement_but_not_its_values() throws Exception {
        Shop shop = FaultTable.MODULE.create(server.createDatabase());
        try (Connection other = shop.connect();
                Statement statement = other.createStatement();
                Connection waiting = shop.connect();
                Statement waiter = waiting.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("UPDATE org_outbox SET last_error = 'secret'");
            CompletableFuture<Integer> update = CompletableFuture.supplyAsync(() -> {
                try {
                    return waiter.executeUpdate("UPDATE org_outbox SET last_error = NULL");
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            await().atMost(LONG)
                    .until(() -> !shop.ask(
                                    "SELECT COUNT(*) FROM pg_locks WHERE waitstart < clock_timestamp() - INTERVAL"
                                            + " '3.1 seconds'")
                            .equals("0"));

            Run run = doctor(shop, "org_outbox");

            other.rollback();
            assertThat(update.get()).isEqualTo(23);
            assertFound(run, "blocker", "keeps 1 sessions waiting for table org_outbox");
            assertThat(run.out())
                    .contains("Its last statement: UPDATE org_outbox SET last_error = ?")
                    .doesNotContain("secret");
            assertThat(PrintedCommands.of(run))
                    .hasSize(1)
                    .allMatch(sql -> sql.startsWith("SELECT pg_terminate_backend("));
        }
    }

    @Test
    void a_relay_that_holds_events_and_marks_none_is_found() throws Exception {
        Shop shop = FaultTable.MODULE.create(server.createDatabase());
        shop.execute(
                "UPDATE org_outbox SET published_at = now() - INTERVAL '1 hour' WHERE published_at IS NOT NULL",
                "UPDATE org_outbox SET available_at = now() - INTERVAL '1 hour', created_at = now() - INTERVAL"
                        + " '1 hour'",
                "UPDATE org_outbox SET locked_at = now() WHERE sequence = (SELECT MAX(sequence) FROM org_outbox)");

        assertFound(doctor(shop, "org_outbox"), "relay", "none was marked as delivered since");
    }

    @Test
    void a_trigger_after_writes_is_only_named() throws Exception {
        Shop shop = FaultTable.EVENT.create(server.createDatabase());
        shop.execute(
                SWALLOW, "CREATE TRIGGER wake AFTER INSERT ON outbox_event FOR EACH ROW EXECUTE FUNCTION swallow()");

        Run run = doctor(shop, "outbox_event");

        assertSilent(run);
        assertThat(run.err()).contains("note: Table outbox_event has the trigger \"wake\"");
    }

    @Test
    void a_printed_replay_works_as_it_stands_whatever_the_type_and_error_are() throws Exception {
        Shop shop = FaultTable.EVENT.create(server.createDatabase());
        String type = "it's $(rm -rf x) `y` \"z\" \\ %_!\n\u202e\u0007;";
        try (Connection connection = shop.connect();
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO outbox_event (event_id, event_type, payload, status, attempts,"
                                + " available_at, created_at,"
                                + " done_at, last_error) VALUES ('-x', ?, '{}', 3, 25, now(), now(), now(), ?)")) {
            insert.setString(1, type);
            insert.setString(2, "--error 'quoted' $HOME %_! failed at port 4711\nnext line");
            insert.executeUpdate();
        }

        Run run = doctor(shop, "outbox_event");
        String replay = PrintedCommands.of(run).stream()
                .filter(command -> command.startsWith("outbox replay"))
                .findFirst()
                .orElseThrow();
        List<String> words = new ArrayList<>(PrintedCommands.words(replay));
        words.addAll(List.of("--url", shop.url(), "--yes"));
        Run replayed = Run.of(words.toArray(String[]::new));

        assertFound(run, "dead", "1 events of outbox_event are dead");
        assertThat(words).contains("--type=" + type);
        assertThat(replayed.exitCode()).as(replayed.err()).isEqualTo(ExitCode.OK);
        assertThat(shop.statusOf("-x")).isZero();
        assertThat(run.err()).contains("set OUTBOX_JDBC_URL");
    }

    @Test
    void a_check_that_is_not_known_cannot_be_left_out() throws Exception {
        Run run = doctor(Shop.inMemory(), "outbox_event", "--without", "dead,everything");

        assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("there is no check everything", "durability");
    }

    @ParameterizedTest
    @EnumSource(FaultTable.class)
    void a_healthy_table_gets_no_word(FaultTable table) throws Exception {
        Shop shop = table.create(server.createDatabase());

        assertSilent(doctor(shop, table.table()));
    }

    @Test
    void a_running_relay_gets_no_word_while_and_after_it_delivers_thousands_of_events() throws Exception {
        Shop shop = FaultTable.MODULE.create(server.createDatabase());
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = ChildJvm.of(Main.class)
                        .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                        .arguments(
                                "relay",
                                "--url",
                                shop.url(),
                                "--tables",
                                "org_outbox",
                                "--bind",
                                "127.0.0.1:0",
                                "--http-endpoint",
                                receiver.url())
                        .start()) {
            relay.awaitLine("health at http://", LONG);
            for (int i = 0; i < 4; i++) {
                FaultTable.MODULE.write(shop, 1_000);
                assertSilent(doctor(shop, "org_outbox"));
            }
            await().atMost(LONG)
                    .until(() -> shop.ask("SELECT COUNT(*) FROM org_outbox WHERE published_at IS NULL")
                            .equals("0"));

            assertSilent(doctor(shop, "org_outbox"));
        }
    }
}
