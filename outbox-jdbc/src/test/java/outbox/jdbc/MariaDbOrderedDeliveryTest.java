package outbox.jdbc;

class MariaDbOrderedDeliveryTest extends OrderedDeliveryContract {

    MariaDbOrderedDeliveryTest() {
        super(Databases.MARIADB);
    }
}
