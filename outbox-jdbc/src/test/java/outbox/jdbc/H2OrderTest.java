package outbox.jdbc;

import outbox.testing.OrderContract;
import outbox.testing.StoreFixture;

class H2OrderTest extends OrderContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.H2.fixture();
    }
}
