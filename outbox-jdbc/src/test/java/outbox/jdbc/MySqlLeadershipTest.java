package outbox.jdbc;

class MySqlLeadershipTest extends LeadershipContract {

    MySqlLeadershipTest() {
        super(Databases.MYSQL);
    }
}
