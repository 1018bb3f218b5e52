package outbox.http;

import outbox.testing.server.PostgresServer;

class PostgresDeliveryTest extends DeliveryContract {

    @Override
    String newDatabase() {
        return PostgresServer.shared().createDatabase();
    }
}
