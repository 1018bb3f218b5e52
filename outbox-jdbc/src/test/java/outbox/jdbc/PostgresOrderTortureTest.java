package outbox.jdbc;

class PostgresOrderTortureTest extends OrderTortureContract {

    PostgresOrderTortureTest() {
        super(Databases.POSTGRES);
    }
}
