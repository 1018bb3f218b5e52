package outbox.jdbc;

class PostgresReconcileTest extends ReconcileContract.Shared {

    PostgresReconcileTest() {
        super(Databases.POSTGRES);
    }
}
