package outbox.cli.doctor;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@Tag("mariadb")
class ReadLimitsTest {

    private static String ask(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void a_question_to_postgresql_has_limits_that_end_with_it_and_cannot_write() throws Exception {
        try (Connection connection =
                DriverManager.getConnection(PostgresServer.shared().createDatabase())) {
            String limits = ReadLimits.within(
                    connection,
                    "postgresql",
                    () -> ask(
                            connection,
                            "SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout')"));

            assertThat(limits).isEqualTo("3s 30s");
            assertThatThrownBy(() -> ReadLimits.within(connection, "postgresql", () -> {
                        try (Statement statement = connection.createStatement()) {
                            return statement.execute("CREATE TABLE t (i INT)");
                        }
                    }))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("read-only");
            assertThat(connection.getAutoCommit()).isTrue();
            assertThat(ask(connection, "SELECT current_setting('lock_timeout')"))
                    .isEqualTo("0");
        }
    }

    @Test
    void a_question_to_mariadb_has_limits() throws Exception {
        try (Connection connection =
                DriverManager.getConnection(MariaDbServer.shared().createDatabase())) {
            String limits = ReadLimits.within(
                    connection,
                    "mysql",
                    () -> ask(connection, "SELECT CONCAT(@@lock_wait_timeout, ' ', @@max_statement_time)"));

            assertThat(limits).startsWith("3 30");
        }
    }
}
