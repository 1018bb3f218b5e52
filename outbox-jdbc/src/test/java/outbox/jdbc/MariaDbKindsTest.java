package outbox.jdbc;

class MariaDbKindsTest extends KindsContract {

    MariaDbKindsTest() {
        super(Databases.MARIADB);
    }
}
