package outbox.jdbc;

class PostgresKindsTest extends KindsContract {

    PostgresKindsTest() {
        super(Databases.POSTGRES);
    }
}
