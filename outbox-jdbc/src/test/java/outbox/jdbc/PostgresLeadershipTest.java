package outbox.jdbc;

class PostgresLeadershipTest extends LeadershipContract {

    PostgresLeadershipTest() {
        super(Databases.POSTGRES);
    }
}
