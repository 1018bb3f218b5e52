package outbox.testing.server;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.testing.internal.Sql;

import java.sql.SQLException;

@Tag("mariadb")
class MariaDbServerTest extends DatabaseServerContract {
    @Override
    DatabaseServer shared() {
        return MariaDbServer.shared();
    }

    @Override
    DatabaseServer start() {
        return MariaDbServer.start();
    }

    @Override
    String maxConnections() {
        return "SELECT @@max_connections";
    }

    @Test
    void a_server_that_starts_leaves_the_temporary_tables_of_another_alone() throws SQLException {
        try (var connection = Sql.connect(shared().createDatabase())) {
            Sql.update(connection, "CREATE TEMPORARY TABLE t (id INT) ENGINE = Aria");

            start().close();

            Sql.update(connection, "DROP TABLE t");
        }
    }
}
