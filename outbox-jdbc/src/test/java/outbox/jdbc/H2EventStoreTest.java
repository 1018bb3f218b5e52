package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

class H2EventStoreTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.H2.fixture();
    }
}
