package outbox.testing;

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
}
