package outbox.jdbc;

class MariaDbLeadershipTest extends LeadershipContract {

    MariaDbLeadershipTest() {
        super(Databases.MARIADB);
    }
}
