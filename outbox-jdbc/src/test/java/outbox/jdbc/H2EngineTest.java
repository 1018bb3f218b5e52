package outbox.jdbc;

class H2EngineTest extends EngineContract {

    H2EngineTest() {
        super(Databases.H2);
    }
}
