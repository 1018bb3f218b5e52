package outbox.jdbc;

class MariaDbDeadHeadTest extends DeadHeadContract {

    MariaDbDeadHeadTest() {
        super(Databases.MARIADB);
    }
}
