package outbox.http;

import outbox.testing.PostgresServer;

class PostgresDeliveryTest extends DeliveryContract {

    @Override
    String newDatabase() {
        return PostgresServer.shared().createDatabase();
    }
}
