package outbox.jdbc;

class PostgresProtectionTest extends ProtectionContract {
    PostgresProtectionTest() {
        super(Databases.POSTGRES);
    }
}
