package outbox.jdbc;

class MariaDbLeaderMoveTest extends LeaderMoveContract {

    MariaDbLeaderMoveTest() {
        super(Databases.MARIADB);
    }
}
