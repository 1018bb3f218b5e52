package outbox.jdbc;

class PostgresThreadTriplesTest extends ThreadTriplesContract {

    PostgresThreadTriplesTest() {
        super(Databases.POSTGRES);
    }
}
