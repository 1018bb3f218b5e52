package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

class MariaDbEventStoreTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MARIADB.fixture();
    }
}
