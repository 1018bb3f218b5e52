package outbox.jdbc;

class H2ReconcileTest extends ReconcileContract.Shared {

    H2ReconcileTest() {
        super(Databases.H2);
    }
}
