package outbox.jdbc;

class PostgresReconcileCrashTest extends ReconcileCrashContract {

    PostgresReconcileCrashTest() {
        super(Databases.POSTGRES);
    }
}
