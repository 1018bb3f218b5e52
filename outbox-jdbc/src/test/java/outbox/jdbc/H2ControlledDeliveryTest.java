package outbox.jdbc;

class H2ControlledDeliveryTest extends ControlledDeliveryContract {

    H2ControlledDeliveryTest() {
        super(Databases.H2);
    }
}
