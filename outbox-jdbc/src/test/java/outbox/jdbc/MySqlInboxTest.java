package outbox.jdbc;

import outbox.testing.MySqlServer;

class MySqlInboxTest extends ServerInboxContract {

    MySqlInboxTest() {
        super(Databases.MYSQL, MySqlServer.shared());
    }
}
