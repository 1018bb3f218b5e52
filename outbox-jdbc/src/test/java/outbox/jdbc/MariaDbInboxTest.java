package outbox.jdbc;

import outbox.testing.MariaDbServer;

class MariaDbInboxTest extends ServerInboxContract {

    MariaDbInboxTest() {
        super(Databases.MARIADB, MariaDbServer.shared());
    }
}
