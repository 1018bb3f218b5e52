package outbox.jdbc;

class MariaDbReconcileTest extends ReconcileContract.Shared {

    MariaDbReconcileTest() {
        super(Databases.MARIADB);
    }
}
