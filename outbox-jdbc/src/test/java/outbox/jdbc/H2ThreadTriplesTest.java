package outbox.jdbc;

class H2ThreadTriplesTest extends ThreadTriplesContract {

    H2ThreadTriplesTest() {
        super(Databases.H2);
    }
}
