package outbox.jdbc;

class H2SuspectTest extends SuspectContract {

    H2SuspectTest() {
        super(Databases.H2);
    }
}
