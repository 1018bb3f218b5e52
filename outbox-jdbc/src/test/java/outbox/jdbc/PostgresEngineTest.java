package outbox.jdbc;

class PostgresEngineTest extends EngineContract {

    PostgresEngineTest() {
        super(Databases.POSTGRES);
    }
}
