package outbox.jdbc;

class MySqlEngineTest extends EngineContract {

    MySqlEngineTest() {
        super(Databases.MYSQL);
    }
}
