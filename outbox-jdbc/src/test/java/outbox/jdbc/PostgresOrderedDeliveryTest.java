package outbox.jdbc;

class PostgresOrderedDeliveryTest extends OrderedDeliveryContract {

    PostgresOrderedDeliveryTest() {
        super(Databases.POSTGRES);
    }
}
