package outbox.jdbc;

class MariaDbSuspectTest extends SuspectContract {

    MariaDbSuspectTest() {
        super(Databases.MARIADB);
    }
}
