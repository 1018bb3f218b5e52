package outbox.jdbc;

import outbox.jdbc.Databases.Isolation;

class PostgresRepeatableReadEngineTest extends EngineContract {

    PostgresRepeatableReadEngineTest() {
        super(Databases.POSTGRES, () -> Databases.POSTGRES.fixtureAt(Isolation.REPEATABLE_READ));
    }
}
