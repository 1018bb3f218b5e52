package outbox.jdbc;

class H2ProtectionTest extends ProtectionContract {
    H2ProtectionTest() {
        super(Databases.H2);
    }
}
