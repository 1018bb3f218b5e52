package outbox.micrometer;

import outbox.testing.PostgresServer;

class PostgresScrapeTest extends ScrapeContract {

    @Override
    String newDatabase() {
        return PostgresServer.shared().createDatabase();
    }
}
