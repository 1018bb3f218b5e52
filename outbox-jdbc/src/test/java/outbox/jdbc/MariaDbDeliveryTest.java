package outbox.jdbc;

import outbox.testing.DeliveryContract;
import outbox.testing.StoreFixture;

class MariaDbDeliveryTest extends DeliveryContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MARIADB.fixture();
    }
}
