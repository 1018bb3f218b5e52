package outbox.jdbc;

import outbox.testing.MariaDbServer;

class MariaDbFaultTest extends FaultContract {

    MariaDbFaultTest() {
        super(Databases.MARIADB, MariaDbServer.shared());
    }
}
