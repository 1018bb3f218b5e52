package outbox.jdbc;

class PostgresDeadHeadTest extends DeadHeadContract {

    PostgresDeadHeadTest() {
        super(Databases.POSTGRES);
    }
}
