package outbox.jdbc;

class MariaDbCrashLoopTest extends CrashLoopContract {

    MariaDbCrashLoopTest() {
        super(Databases.MARIADB);
    }
}
