package outbox.jdbc;

import outbox.jdbc.Databases.Isolation;

class PostgresSerializableEngineTest extends EngineContract {

    PostgresSerializableEngineTest() {
        super(Databases.POSTGRES, () -> Databases.POSTGRES.fixtureAt(Isolation.SERIALIZABLE));
    }
}
