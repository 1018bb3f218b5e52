package outbox.jdbc;

class PgBouncerEngineTest extends EngineContract {

    PgBouncerEngineTest() {
        super(Databases.POSTGRES, Databases::fixtureBehindPgBouncer);
    }
}
