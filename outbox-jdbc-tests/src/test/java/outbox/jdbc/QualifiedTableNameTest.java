package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;

/** Metrics use one name for a table, however the table name is spelled. */
@Timeout(120)
@Tag("mariadb")
class QualifiedTableNameTest {

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void assertOneName(Connection connection, String name, List<String> spellings) throws SQLException {
        for (String spelling : spellings) {
            assertThat(new TableName(spelling).qualified(connection)).isEqualTo(name);
        }
    }

    @Test
    void on_postgresql_the_search_path_finds_the_schema() throws SQLException {
        try (Connection connection =
                DriverManager.getConnection(PostgresServer.shared().createDatabase())) {
            execute(connection, "CREATE TABLE org_outbox (id INT)");
            execute(connection, "CREATE SCHEMA hrm");
            execute(connection, "CREATE TABLE hrm.hrm_outbox (id INT)");
            execute(connection, "SET search_path = public, hrm");

            assertOneName(connection, "public.org_outbox", List.of("org_outbox", "public.org_outbox", "ORG_OUTBOX"));
            assertOneName(connection, "hrm.hrm_outbox", List.of("hrm_outbox", "hrm.hrm_outbox", "HRM.hrm_outbox"));
        }
    }

    @Test
    void on_mariadb_it_is_in_the_database_of_the_connection() throws SQLException {
        try (Connection connection =
                DriverManager.getConnection(MariaDbServer.shared().createDatabase())) {
            String database = connection.getCatalog();

            assertOneName(connection, database + ".org_outbox", List.of("org_outbox", database + ".org_outbox"));
        }
    }

    @Test
    void on_h2_case_does_not_matter() throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:" + UUID.randomUUID())) {
            assertOneName(
                    connection,
                    "public.org_outbox",
                    List.of("org_outbox", "ORG_OUTBOX", "public.org_outbox", "PUBLIC.Org_Outbox"));
        }
    }
}
