package outbox.jdbc;

class MariaDbControlledDeliveryTest extends ControlledDeliveryContract {

    MariaDbControlledDeliveryTest() {
        super(Databases.MARIADB);
    }
}
