package outbox.testing.server;

import org.junit.jupiter.api.Tag;

@Tag("mysql")
class MySqlServerTest extends DatabaseServerContract {
    @Override
    DatabaseServer shared() {
        return MySqlServer.shared();
    }

    @Override
    DatabaseServer start() {
        return MySqlServer.start();
    }

    @Override
    String maxConnections() {
        return "SELECT @@max_connections";
    }
}
