package outbox.jdbc;

import outbox.testing.DeliveryContract;
import outbox.testing.StoreFixture;

class H2DeliveryTest extends DeliveryContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.H2.fixture();
    }
}
