package outbox.jdbc;

import outbox.jdbc.Databases.Isolation;

class MariaDbSerializableEngineTest extends EngineContract {

    MariaDbSerializableEngineTest() {
        super(Databases.MARIADB, () -> Databases.MARIADB.fixtureAt(Isolation.SERIALIZABLE));
    }
}
