package outbox.testing;

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
}
