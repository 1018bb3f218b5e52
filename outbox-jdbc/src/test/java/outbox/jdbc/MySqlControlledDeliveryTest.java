package outbox.jdbc;

class MySqlControlledDeliveryTest extends ControlledDeliveryContract {

    MySqlControlledDeliveryTest() {
        super(Databases.MYSQL);
    }
}
