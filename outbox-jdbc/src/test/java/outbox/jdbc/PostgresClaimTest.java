package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.testing.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** The claim goes along its index and then straight to the places of the events, whatever the planner takes the table for. */
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
            Instant now = store.now(connection); // asked on a connection that records no plans
            PlanRecorder recorder = new PlanRecorder(connection);
            assertThat(claim(store, recorder.connection(), now, limit)).hasSize(limit);
            return recorder.plans().get(recorder.plans().size() - 1);
        });

        assertThat(plan)
                .contains("Index Scan using outbox_event_due", "Tid Scan on outbox_event")
                .doesNotContain("Seq Scan", "Sort", "Hash", "Bitmap");
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

    private static List<ClaimedEvent> claim(
            AbstractJdbcEventStore store, Connection connection, Instant now, int limit) {
        return store.claim(connection, CLAIM, now, now.minusSeconds(300), Duration.ZERO, limit);
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
