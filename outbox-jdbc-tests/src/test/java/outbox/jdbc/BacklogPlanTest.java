package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** The backlog query runs every few seconds, so its cost must not grow with the number of delivered events. */
@Timeout(120)
@Tag("mariadb")
@Tag("mysql")
class BacklogPlanTest {

    private static final int EVENTS = 20_000; // 1 % of them are pending

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void the_backlog_is_found_by_the_index_of_due_events(Databases database) throws SQLException {
        StoreFixture db = givenEvents(database);
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();

        String plan = db.call(connection -> {
            PlanRecorder recorder = new PlanRecorder(connection);
            assertThat(store.backlog(recorder.connection()).pending()).isEqualTo(EVENTS / 100);
            return recorder.plans().stream()
                    .filter(one -> one.contains("pending"))
                    .collect(Collectors.joining("\n"));
        });

        assertThat(plan).contains("outbox_event_due").doesNotContain("Seq Scan", "| ALL |");
    }

    private static StoreFixture givenEvents(Databases database) throws SQLException {
        StoreFixture db = database.fixture(
                database == Databases.MYSQL ? "rewriteBatchedStatements=true" : ""); // only to make the test faster
        String now = database == Databases.POSTGRES ? "now()" : "UTC_TIMESTAMP(6)";
        try (Connection connection = db.open();
                PreparedStatement insert = connection.prepareStatement("""
                        INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
                        VALUES (?, 'T', '{}', ?, %1$s, %1$s)
                        """.formatted(now));
                Statement statement = connection.createStatement()) {
            for (int i = 0; i < EVENTS; i++) {
                insert.setString(1, "e-" + i);
                insert.setInt(2, i % 100 == 0 ? 0 : 1);
                insert.addBatch();
                if (i % 1000 == 999) {
                    insert.executeBatch();
                }
            }
            connection.commit();
            statement.execute(database == Databases.POSTGRES ? "ANALYZE outbox_event" : "ANALYZE TABLE outbox_event");
            connection.commit();
        }
        return db;
    }
}
