package outbox.jdbc;

class MySqlSuspectTest extends SuspectContract {

    MySqlSuspectTest() {
        super(Databases.MYSQL);
    }
}
