package outbox.jdbc;

class MariaDbProtectionTest extends ProtectionContract {
    MariaDbProtectionTest() {
        super(Databases.MARIADB);
    }
}
