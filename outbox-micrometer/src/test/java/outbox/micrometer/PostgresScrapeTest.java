package outbox.micrometer;

import org.junit.jupiter.api.Test;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

class PostgresScrapeTest extends ScrapeContract {

    @Override
    String newDatabase() {
        return PostgresServer.shared().createDatabase();
    }

    @Test
    void a_row_from_before_all_time_has_an_age() throws SQLException {
        String url = newDatabase();
        try (RunningOutbox outbox = new RunningOutbox(url);
                Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)"
                            + " VALUES ('hostile', 't', '{}', 0, now() + interval '1 day', '-infinity')");

            await().untilAsserted(() -> assertThat(outbox.scrape().value("outbox_oldest_pending_age_seconds"))
                    .isGreaterThan(1e9)
                    .isNotNaN());
            assertThat(outbox.scrape().value("outbox_overdue_age_seconds")).isZero();
        }
    }
}
