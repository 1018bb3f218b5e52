package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventRef;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.testing.contract.StoreFixture;

import java.sql.Statement;
import java.time.Instant;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** Queries for keys, deadlines and priorities use their indexes, in a table with many plain events. */
@Timeout(60)
class PostgresControlPlanTest {

    private static final Claim CLAIM = new Claim("claim", Long.MAX_VALUE);

    @Test
    void every_feature_is_found_by_its_index() {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Instant now = db.now();
        db.inTransaction(connection -> {
            try (Statement statement = connection.createStatement()) {
                for (String sql : List.of("""
                        INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at,
                                                  dedup_key, priority, expires_at)
                        SELECT i::text, 'T', '{}', i % 4, now(), now(), 'k' || i, 1 + i % 9, now() + INTERVAL '1 day'
                          FROM generate_series(1, 20000) i
                        """, """
                        INSERT INTO outbox_key (outbox_table, dedup_key, event_id)
                        SELECT 'outbox_event', 'k' || i, i::text FROM generate_series(1, 20000) i
                        """, """
                        INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
                        SELECT 'plain' || i, 'T', '{}', 0, now(), now() FROM generate_series(1, 20000) i
                        """, "ANALYZE outbox_key", "ANALYZE outbox_event")) {
                    statement.execute(sql);
                }
            }
        });

        assertThat(plans(db, connection -> store.find(connection, EventRef.key("k8"), false)))
                .singleElement()
                .asString()
                .contains("Index Scan using outbox_key_pkey on", "Index Scan using outbox_event_pkey on")
                .doesNotContain("Seq Scan");
        assertThat(plans(db, connection -> store.expire(connection, now, now, "late", 100)))
                .hasSize(2)
                .allMatch(plan -> plan.contains("Index Scan using outbox_event_expiry on"));
        assertThat(plans(
                        db,
                        connection -> assertThat(
                                        store.claim(connection, CLAIM, ClaimRequest.of(now.plusSeconds(60), now, 40)))
                                .hasSize(40)))
                .anyMatch(plan -> plan.contains("Index Scan using outbox_event_priority on"))
                .anyMatch(plan -> plan.contains("Index Scan using outbox_event_due on"))
                .noneMatch(plan -> plan.contains("Seq Scan") || plan.contains("->  Sort"));
    }

    private static List<String> plans(StoreFixture db, StoreFixture.Work use) {
        return db.call(connection -> {
            PlanRecorder recorder = new PlanRecorder(connection);
            use.on(recorder.connection());
            connection.rollback();
            return recorder.plans().stream()
                    .filter(plan -> !plan.contains("to_regclass")) // the first check of the table
                    .toList();
        });
    }
}
