package outbox.jdbc;

import outbox.testing.DeliveryContract;
import outbox.testing.StoreFixture;

class PostgresDeliveryTest extends DeliveryContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.POSTGRES.fixture();
    }
}
