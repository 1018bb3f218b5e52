package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A claim uses its index and then reads the rows by their physical location, even if the planner misjudges the size
 * of the table.
 */
@Timeout(60)
class PostgresClaimTest {

    private static final Claim CLAIM = new Claim("claim", Long.MAX_VALUE);
    private static final int EVENTS = 20_000;

    @ParameterizedTest(name = "one of {0} events is pending, {1} are claimed")
    @CsvSource({"100, 50", "1, 50", "1, 1000"})
    void a_claim_reads_what_it_takes(int onePendingOf, int limit) {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        db.inTransaction(
                connection -> execute(connection, """
                INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
                SELECT i::text, 'T', '{}', CASE WHEN i %% %d = 0 THEN 0 ELSE 1 END, now(), now() FROM generate_series(1, %d) i
                """.formatted(onePendingOf, EVENTS), "ANALYZE outbox_event"));

        String plan = db.call(connection -> {
            Instant now = store.now(connection); // on a connection that does not record plans
            PlanRecorder recorder = new PlanRecorder(connection);
            assertThat(claim(store, recorder.connection(), now, limit)).hasSize(limit);
            return recorder.plans().get(recorder.plans().size() - 1);
        });

        assertThat(plan)
                .contains("Index Scan using outbox_event_due", "Tid Scan on outbox_event")
                .doesNotContain("Seq Scan", "->  Sort", "Hash", "Bitmap");
    }

    @Test
    void a_claim_of_a_partitioned_table_takes_nothing_that_has_the_same_place_elsewhere() {
        StoreFixture plain = Databases.POSTGRES.fixture();
        plain.inTransaction(connection -> execute(
                connection,
                "CREATE TABLE parted_event (LIKE outbox_event INCLUDING DEFAULTS) PARTITION BY HASH (event_id)",
                "CREATE TABLE parted_event_0 PARTITION OF parted_event FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
                "CREATE TABLE parted_event_1 PARTITION OF parted_event FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
                """
                INSERT INTO parted_event (event_id, seq, event_type, payload, status, available_at, created_at)
                SELECT i::text, i, 'T', '{}', 0, now() + (i % 2) * INTERVAL '1 day', now() FROM generate_series(1, 200) i
                """));
        PostgresEventStore store = new PostgresEventStore("parted_event");

        List<ClaimedEvent> claimed = plain.call(connection -> claim(store, connection, store.now(connection), EVENTS));

        assertThat(claimed)
                .hasSize(100)
                .allSatisfy(one ->
                        assertThat(Integer.parseInt(one.event().eventId())).isEven());
    }

    @Test
    void an_event_that_changes_while_a_claim_is_under_way_is_left_to_the_next_claim() throws Exception {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        db.inTransaction(connection -> execute(connection, """
                INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
                SELECT i::text, 'T', '{}', 0, now() + i * INTERVAL '1 millisecond' - INTERVAL '1 minute', now() FROM generate_series(1, 3) i
                """, """
                CREATE FUNCTION wait_for_the_test() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM pg_advisory_xact_lock(2); -- the test sees that it is here
                    WHILE NOT pg_try_advisory_xact_lock(1) LOOP -- a wait for a lock would have a time limit
                        PERFORM pg_sleep(0.01);
                    END LOOP;
                    RETURN NEW;
                END $$
                """, """
                CREATE TRIGGER claimed BEFORE UPDATE ON outbox_event FOR EACH ROW
                WHEN (OLD.event_id = '1' AND NEW.locked_by IS NOT NULL) EXECUTE FUNCTION wait_for_the_test()
                """));
        List<String> claimed = new ArrayList<>();
        try (Connection test = db.open()) {
            execute(test, "SELECT pg_advisory_xact_lock(1)");
            CompletableFuture<List<ClaimedEvent>> claim = CompletableFuture.supplyAsync(
                    () -> db.call(connection -> claim(store, connection, store.now(connection), 10)));
            await().until(() -> db.call(PostgresClaimTest::isUnderWay));

            db.inTransaction(connection -> execute(
                    connection,
                    "UPDATE outbox_event SET available_at = now() - INTERVAL '1 hour' WHERE event_id = '2'"));
            test.commit();

            claimed.addAll(ids(claim.get(10, TimeUnit.SECONDS)));
            assertThat(claimed).contains("1").doesNotContain("2");
        }
        claimed.addAll(ids(db.call(connection -> claim(store, connection, store.now(connection), 10))));
        assertThat(claimed).containsExactlyInAnyOrder("1", "2", "3");
    }

    private static boolean isUnderWay(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 2 AND database = "
                                + "(SELECT oid FROM pg_database WHERE datname = current_database()))")) {
            return row.next() && row.getBoolean(1);
        }
    }

    private static List<String> ids(List<ClaimedEvent> claimed) {
        return claimed.stream().map(one -> one.event().eventId()).toList();
    }

    private static List<ClaimedEvent> claim(
            AbstractJdbcEventStore store, Connection connection, Instant now, int limit) {
        return store.claim(connection, CLAIM, ClaimRequest.of(now, now.minusSeconds(300), limit));
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
