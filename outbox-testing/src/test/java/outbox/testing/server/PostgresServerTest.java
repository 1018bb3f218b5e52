package outbox.testing.server;

import org.junit.jupiter.api.Test;
import outbox.testing.internal.Sql;

import java.sql.SQLException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PostgresServerTest extends DatabaseServerContract {
    @Override
    DatabaseServer shared() {
        return PostgresServer.shared();
    }

    @Override
    DatabaseServer start() {
        return PostgresServer.start();
    }

    @Override
    String maxConnections() {
        return "SELECT setting::int FROM pg_settings WHERE name = 'max_connections'";
    }

    @Test
    void a_small_disk_is_full_for_tables_until_one_of_them_is_dropped() throws SQLException {
        try (var server = PostgresServer.startWithSmallDisk(4)) {
            var url = server.createDatabase();
            var insert = "INSERT INTO %s SELECT repeat('x', 2000) FROM generate_series(1, 1500)";
            Sql.update(url, "CREATE TABLE a (t TEXT STORAGE PLAIN)", "CREATE TABLE b (t TEXT STORAGE PLAIN)");
            Sql.update(url, insert.formatted("a"));

            assertThatExceptionOfType(SQLException.class)
                    .isThrownBy(() -> Sql.update(url, insert.formatted("b")))
                    .matches(e -> e.getSQLState().equals("53100"), "disk full");
            Sql.update(url, "DROP TABLE a", "VACUUM b", insert.formatted("b"));

            assertThat(Sql.number(url, "SELECT COUNT(*) FROM b")).isEqualTo(1500);
        }
    }
}
