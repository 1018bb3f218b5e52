package outbox.testing;

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
