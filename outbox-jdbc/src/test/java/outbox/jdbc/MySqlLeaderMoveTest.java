package outbox.jdbc;

class MySqlLeaderMoveTest extends LeaderMoveContract {

    MySqlLeaderMoveTest() {
        super(Databases.MYSQL);
    }
}
