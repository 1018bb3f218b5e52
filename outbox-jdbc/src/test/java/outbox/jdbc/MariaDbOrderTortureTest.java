package outbox.jdbc;

class MariaDbOrderTortureTest extends OrderTortureContract {

    MariaDbOrderTortureTest() {
        super(Databases.MARIADB);
    }
}
