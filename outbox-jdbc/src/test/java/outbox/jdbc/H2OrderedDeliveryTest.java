package outbox.jdbc;

class H2OrderedDeliveryTest extends OrderedDeliveryContract {

    H2OrderedDeliveryTest() {
        super(Databases.H2);
    }
}
