package outbox.jdbc;

class PostgresLeaderMoveTest extends LeaderMoveContract {

    PostgresLeaderMoveTest() {
        super(Databases.POSTGRES);
    }
}
