package outbox.jdbc;

class PostgresSuspectTest extends SuspectContract {

    PostgresSuspectTest() {
        super(Databases.POSTGRES);
    }
}
