package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventOrder.Position;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The cost of queries about an aggregate does not depend on its number of events. The table has 20,000 pending
 * events of one aggregate and as many of others, in all statuses.
 */
@Timeout(120)
@Tag("mariadb")
@Tag("mysql")
class OrderPlanTest {

    private static final int EVENTS = 40_000;
    private static final Claim CLAIM = new Claim("plan", Long.MAX_VALUE);

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void places_are_found_by_the_index_of_the_order(Databases database) throws SQLException {
        StoreFixture db = givenEvents(database);
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        List<String> ids =
                IntStream.range(0, 100).mapToObj(i -> id(i * 2)).toList(); // the first ones of the long queue

        for (Ordering ordering :
                List.of(Ordering.perAggregate(), Ordering.perAggregate().onlyTypes(List.of("T", "U")))) {
            String plan = planOf(db, connection -> store.positions(connection, ids, ordering));

            assertThat(lines(plan, database == Databases.POSTGRES ? "Scan" : "| p |"))
                    .hasSizeGreaterThanOrEqualTo(database == Databases.POSTGRES ? 4 : 6)
                    .allMatch(line -> line.matches(".*outbox_event_pkey.*")
                            || line.matches(
                                    database == Databases.POSTGRES
                                            ? ".*Index (Only )?Scan.* using outbox_event_order .*"
                                            : ".*\\| outbox_event_order \\| 775 \\|.*")); // by type, id and status
            assertThat(plan).doesNotContain("filesort", "Seq Scan", "->  Sort");
        }
        Map<String, Position> positions = db.call(connection -> store.positions(
                connection, List.of(id(0), id(2), id(EVENTS - 4), id(EVENTS - 2)), Ordering.perAggregate()));
        assertThat(positions.get(id(2))).isEqualTo(new Position(3, 1, 0));
        long beforeLast = Objects.requireNonNull(positions.get(id(EVENTS - 4))).number();
        assertThat(Objects.requireNonNull(positions.get(id(EVENTS - 2))).unfinishedBefore())
                .isEqualTo(beforeLast);
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void a_claim_in_order_uses_the_indexes_of_the_claim_and_of_the_order(Databases database) throws SQLException {
        StoreFixture db = givenEvents(database);
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Instant now = db.now();

        String plan = planOf(
                db,
                connection -> store.claim(
                        connection, CLAIM, ClaimRequest.of(now, now, 50).inOrder(Ordering.perAggregate())));

        assertThat(plan).contains("outbox_event_due", "outbox_event_order");
        assertThat(plan).doesNotContain("filesort", "Seq Scan", "->  Sort");
        assertThat(lines(plan, "| ALL |"))
                .allMatch(line -> line.contains("| <derived")); // the rows found before, in their order
        List<ClaimedEvent> claimed = db.call(connection -> store.claim(
                connection,
                CLAIM,
                ClaimRequest.of(now, now.minusSeconds(60), 50).inOrder(Ordering.perAggregate())));
        assertThat(claimed).hasSize(50);
    }

    /** A prepared statement on the server could otherwise keep a plan that was made for an empty table. */
    @Test
    void on_postgresql_no_plan_is_kept_for_groups() {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();

        List<String> kept = db.call(connection -> {
            for (int i = 0; i < 10; i++) {
                store.release(connection, CLAIM.token(), List.of(id(0)));
                store.setAttempts(connection, CLAIM.token(), id(0), 1);
                store.query(connection, "SELECT 'another'", binder -> {}, row -> row.getString(1));
            }
            return store.query(
                    connection, "SELECT statement FROM pg_prepared_statements", binder -> {}, row -> row.getString(1));
        });

        // the server does keep plans of other statements
        assertThat(kept).anyMatch(sql -> sql.contains("'another'"));
        assertThat(kept).noneMatch(sql -> sql.contains("locked_by = NULL") || sql.contains("attempts + 1"));
    }

    @Test
    void on_postgresql_plans_that_are_kept_go_by_the_indexes_though_they_were_made_on_a_small_table() {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Instant now = db.now();

        db.insert(List.of(OrderLog.event("T", "a", 1), OrderLog.event("T", "a", 2)));

        Map<String, String> plans = db.call(connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute("ANALYZE outbox_event");
            }
            for (int i = 0; i < 20; i++) {
                store.positions(connection, List.of(id(0), id(1)), Ordering.perAggregate());
                store.claim(connection, CLAIM, ClaimRequest.of(now, now, 50));
                store.claim(connection, CLAIM, ClaimRequest.of(now, now, 50).inOrder(Ordering.perAggregate()));
                store.nextDue(connection, now);
                connection.commit();
            }
            assertThat(store.query(connection, "SHOW enable_seqscan", binder -> {}, row -> row.getString(1)))
                    .containsExactly("on"); // the settings for the statements no longer apply
            return keptPlans(store, connection);
        });

        assertThat(plans.keySet())
                .hasSize(4)
                .anyMatch(sql -> sql.contains("dead_before"))
                .anyMatch(sql -> sql.contains("SKIP LOCKED") && !sql.contains("e.seq"))
                .anyMatch(sql -> sql.contains("SKIP LOCKED") && sql.contains("e.seq"))
                .anyMatch(sql -> sql.startsWith("SELECT available_at"));
        plans.forEach((sql, plan) -> {
            boolean isOfPlaces = sql.contains("dead_before");
            assertThat(plan)
                    .as(sql)
                    .contains(isOfPlaces ? "outbox_event_order" : "outbox_event_due")
                    .doesNotContain("Seq Scan", "->  Sort", "Bitmap", "Hash");
            if (isOfPlaces) { // the index for claims is full of done events
                assertThat(plan).contains("outbox_event_pkey").doesNotContain("outbox_event_due");
            }
        });
    }

    /** Returns the generic plans by statement, which the server uses for all bound values. */
    private static Map<String, String> keptPlans(AbstractJdbcEventStore store, Connection connection)
            throws SQLException {
        try (Statement statement = connection.createStatement()) {
            // show the cached plan
            statement.execute("SET LOCAL plan_cache_mode = force_generic_plan");
        }
        Map<String, String> plans = new HashMap<>();
        List<List<String>> kept = store.query(
                connection,
                "SELECT statement, name, cardinality(parameter_types) FROM pg_prepared_statements WHERE generic_plans > 10 AND statement LIKE '%outbox_event%'",
                binder -> {},
                row -> List.of(
                        row.getString(1).strip(), row.getString(2), "NULL" + ", NULL".repeat(row.getInt(3) - 1)));
        for (List<String> one : kept) {
            String explain = "EXPLAIN EXECUTE \"" + one.get(1) + "\" (" + one.get(2) + ")";
            plans.put(
                    one.get(0),
                    String.join("\n", store.query(connection, explain, binder -> {}, row -> row.getString(1))));
        }
        return plans;
    }

    private static String planOf(StoreFixture db, StoreFixture.Work use) {
        return db.call(connection -> {
            PlanRecorder recorder = new PlanRecorder(connection);
            use.on(recorder.connection());
            connection.rollback();
            return String.join(
                    "\n",
                    recorder.plans().stream()
                            .filter(plan -> plan.contains("seq") && !plan.contains("information_schema"))
                            .toList());
        });
    }

    private static List<String> lines(String plan, String marker) {
        return plan.lines().filter(line -> line.contains(marker)).toList();
    }

    private static String id(int number) {
        return "e-%06d".formatted(number);
    }

    /** The even numbers are the long queue. The others are many short queues with events in all statuses. */
    private static StoreFixture givenEvents(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        String now = database == Databases.POSTGRES ? "now()" : "UTC_TIMESTAMP(6)";
        try (Connection connection = db.open()) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("""
                        INSERT INTO outbox_event (event_id, event_type, aggregate_type, aggregate_id, payload, status, available_at, created_at)
                        WITH digit (d) AS (SELECT 0 UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4
                                           UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9),
                             number (i) AS (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d
                                              FROM digit a, digit b, digit c, digit e, digit f)
                        SELECT CONCAT('e-', LPAD(CAST(i AS CHAR(6)), 6, '0')), 'T', 'Order',
                               CASE WHEN i %% 2 = 0 THEN 'long' ELSE CONCAT('short-', i %% 2001) END,
                               '{}', CASE WHEN i %% 2 = 0 THEN 0 ELSE (i >> 1) & 3 END, %1$s, %1$s
                          FROM number
                         WHERE i < %2$d
                         ORDER BY i
                        """.formatted(now, EVENTS));
            }
            connection.commit();
            try (Statement statement = connection.createStatement()) {
                statement.execute(
                        database == Databases.POSTGRES ? "ANALYZE outbox_event" : "ANALYZE TABLE outbox_event");
            }
            connection.commit();
        }
        return db;
    }
}
