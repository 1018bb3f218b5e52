package specification;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(60)
@Tag("mariadb")
class SpecificationProgramTest {

    static Stream<Arguments> databases() {
        return Stream.of(
                Arguments.of("jdbc:h2:mem:spec;DB_CLOSE_DELAY=-1", "CLOB", "TINYINT", "TIMESTAMP", "CLOB"),
                Arguments.of(PostgresServer.shared().createDatabase(), "JSON", "SMALLINT", "TIMESTAMP(6)", "TEXT"),
                Arguments.of(MariaDbServer.shared().createDatabase(), "JSON", "TINYINT", "DATETIME(6)", "TEXT"));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void it_compiles_and_behaves_as_the_texts_say(String url, String json, String status, String time, String text)
            throws SQLException {
        try (HikariDataSource pool = pool(url)) {
            createTable(pool, json, status, time, text);
            try (SpecificationProgram program = new SpecificationProgram(pool)) {
                List<String> ids = program.writeEverything();
                program.poller.start();

                for (String done : ids.subList(0, 4)) {
                    await().untilAsserted(() -> assertThat(program.status(done)).isEqualTo(1));
                }
                for (String dead : ids.subList(4, 6)) {
                    await().untilAsserted(() -> assertThat(program.status(dead)).isEqualTo(3));
                }
                assertThat(program.log)
                        .contains("order 7 of tenant-123", "plain {k=v}", "plain {}", "after USER_DELETED failed")
                        .containsSubsequence("before Fails", "after Fails failed", "before Fails", "after Fails failed")
                        .anyMatch(line -> line.startsWith("greet ") && line.contains("John"));
                assertThat(program.log.stream().filter(line -> line.startsWith("plain")))
                        .hasSize(2);
                await().untilAsserted(() -> {
                    assertThat(program.metrics.success).hasValue(4);
                    assertThat(program.metrics.failure).hasValue(1);
                    assertThat(program.metrics.dead).hasValue(2);
                });
                assertThat(program.metrics.hot).hasValue(4);
                assertThat(program.metrics.cold).hasValueGreaterThanOrEqualTo(3);
            }
        }
    }

    private static HikariDataSource pool(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(8);
        return new HikariDataSource(config);
    }

    private static void createTable(HikariDataSource pool, String json, String status, String time, String text)
            throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("""
                    CREATE TABLE outbox_event (
                      event_id VARCHAR(36) PRIMARY KEY,
                      event_type VARCHAR(128) NOT NULL,
                      aggregate_type VARCHAR(64),
                      aggregate_id VARCHAR(128),
                      tenant_id VARCHAR(64),
                      payload %1$s NOT NULL,
                      headers %1$s,
                      status %2$s NOT NULL,
                      attempts INT NOT NULL DEFAULT 0,
                      available_at %3$s NOT NULL,
                      created_at %3$s NOT NULL,
                      done_at %3$s,
                      last_error %4$s,
                      locked_by VARCHAR(128),
                      locked_at %3$s
                    )""".formatted(json, status, time, text));
            statement.execute("CREATE INDEX idx_status_available ON outbox_event(status, available_at, created_at)");
        }
    }
}
