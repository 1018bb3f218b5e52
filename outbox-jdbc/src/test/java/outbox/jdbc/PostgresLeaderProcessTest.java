package outbox.jdbc;

class PostgresLeaderProcessTest extends LeaderProcessContract {

    PostgresLeaderProcessTest() {
        super(Databases.POSTGRES);
    }
}
