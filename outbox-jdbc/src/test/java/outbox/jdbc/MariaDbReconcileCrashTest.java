package outbox.jdbc;

class MariaDbReconcileCrashTest extends ReconcileCrashContract {

    MariaDbReconcileCrashTest() {
        super(Databases.MARIADB);
    }
}
