package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** A purge reads only the parts of the table that can contain rows to delete. */
@Timeout(120)
class PostgresPurgeReadsTest {

    private static final int ROWS = Integer.getInteger("outbox.trials.rows", 60_000);

    private StoreFixture db;
    private PostgresEventStore store;
    private Instant hourAgo;

    /** Inserts events that were delivered within the last hour. The first rows of the table are the oldest. */
    @BeforeEach
    void givenDeliveredEvents() throws SQLException {
        db = Databases.POSTGRES.fixture();
        store = (PostgresEventStore) db.store();
        hourAgo = db.now().minus(Duration.ofHours(1));
        execute("""
                INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at, done_at)
                SELECT 'e-' || i, 'T', repeat('x', 200), 1, t, t, t
                  FROM (SELECT i, now() - INTERVAL '1 hour' + i * (INTERVAL '50 minutes' / %1$d) AS t
                          FROM generate_series(1, %1$d) AS i) AS times
                """.formatted(ROWS), "VACUUM ANALYZE outbox_event");
    }

    @Test
    void what_was_looked_at_is_not_read_again_until_something_in_it_is_old_enough() {
        List<String> first = looks(hourAgo);

        assertThat(first).hasSizeGreaterThan(3).allMatch(plan -> plan.contains("Tid Range Scan"));
        assertThat(looks(hourAgo)).isEmpty();
        assertThat(looks(hourAgo.plusSeconds(1))).hasSize(1);
        assertThat(looks(hourAgo.plusSeconds(1))).as("all is deleted there").hasSize(1);
        assertThat(looks(hourAgo.plusSeconds(1))).isEmpty();
        assertThat(countBefore(hourAgo.plusSeconds(1))).isZero();
    }

    @Test
    void all_that_is_old_is_deleted() {
        purge(hourAgo);

        Instant half = hourAgo.plus(Duration.ofMinutes(25));
        int deleted = 0;
        int last;
        do {
            last = purge(half);
            deleted += last;
        } while (last > 0);

        assertThat(deleted).isBetween(ROWS / 2 - ROWS / 100, ROWS / 2 + ROWS / 100);
        assertThat(db.count("1 = 1")).isEqualTo(ROWS - deleted);
        assertThat(countBefore(half)).isZero();
    }

    @Test
    void an_event_that_ends_after_the_look_is_deleted_in_its_time() throws SQLException {
        EventEnvelope plain = EventEnvelope.ofJson("T", "{}");
        EventEnvelope controlled =
                EventEnvelope.builder("T").payloadJson("{}").priority(5).build();
        db.insert(plain);
        db.insert(controlled);
        purge(db.now());
        looks(hourAgo.plus(Duration.ofMinutes(59))); // only the two are left
        execute("UPDATE outbox_event SET status = 1, done_at = clock_timestamp() WHERE status = 0");

        assertThat(purge(db.now().plusSeconds(1))).isPositive();
        while (purge(db.now().plusSeconds(1)) > 0) {}

        assertThat(db.count("1 = 1")).isZero();
    }

    @Test
    void events_behind_a_view_are_deleted_too() throws SQLException {
        execute("CREATE VIEW outbox_view AS SELECT * FROM outbox_event");
        PostgresEventStore behindView = new PostgresEventStore("outbox_view");

        assertThat(db.<Integer>call(connection ->
                        behindView.purge(connection, EventStatus.DONE, hourAgo.plus(Duration.ofMinutes(1)), 100)))
                .isEqualTo(100);
    }

    @Test
    void a_table_that_was_rewritten_is_looked_at_anew() throws SQLException {
        looks(hourAgo);

        execute("VACUUM FULL outbox_event");

        assertThat(looks(hourAgo)).hasSizeGreaterThan(3);
        assertThat(looks(hourAgo)).isEmpty();
    }

    private long countBefore(Instant time) {
        return db.count("done_at < TIMESTAMPTZ '" + time + "'");
    }

    private int purge(Instant doneBefore) {
        return db.call(connection -> store.purge(connection, EventStatus.DONE, doneBefore, 10_000));
    }

    /** Returns the plans of the queries of a purge. */
    private List<String> looks(Instant doneBefore) {
        return db.call(connection -> {
            PlanRecorder recorder = new PlanRecorder(connection);
            store.purge(recorder.connection(), EventStatus.DONE, doneBefore, 10_000);
            return recorder.plans().stream()
                    .filter(plan -> plan.contains("ctid"))
                    .toList();
        });
    }

    private void execute(String... statements) throws SQLException {
        try (Connection connection = db.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
