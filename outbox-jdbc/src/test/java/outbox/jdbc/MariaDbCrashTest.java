package outbox.jdbc;

class MariaDbCrashTest extends CrashContract {

    MariaDbCrashTest() {
        super(Databases.MARIADB);
    }
}
