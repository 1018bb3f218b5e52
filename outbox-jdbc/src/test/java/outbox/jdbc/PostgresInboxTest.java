package outbox.jdbc;

import outbox.testing.PostgresServer;

class PostgresInboxTest extends ServerInboxContract {

    PostgresInboxTest() {
        super(Databases.POSTGRES, PostgresServer.shared());
    }
}
