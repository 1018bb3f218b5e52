package outbox.jdbc;

class PostgresControlledDeliveryTest extends ControlledDeliveryContract {

    PostgresControlledDeliveryTest() {
        super(Databases.POSTGRES);
    }
}
