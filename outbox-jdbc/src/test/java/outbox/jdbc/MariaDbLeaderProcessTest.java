package outbox.jdbc;

class MariaDbLeaderProcessTest extends LeaderProcessContract {

    MariaDbLeaderProcessTest() {
        super(Databases.MARIADB);
    }
}
