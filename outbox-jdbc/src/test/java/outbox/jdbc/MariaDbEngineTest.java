package outbox.jdbc;

class MariaDbEngineTest extends EngineContract {

    MariaDbEngineTest() {
        super(Databases.MARIADB);
    }
}
