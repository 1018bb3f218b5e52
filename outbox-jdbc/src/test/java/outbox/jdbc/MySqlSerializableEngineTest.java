package outbox.jdbc;

import outbox.jdbc.Databases.Isolation;

class MySqlSerializableEngineTest extends EngineContract {

    MySqlSerializableEngineTest() {
        super(Databases.MYSQL, () -> Databases.MYSQL.fixtureAt(Isolation.SERIALIZABLE));
    }
}
