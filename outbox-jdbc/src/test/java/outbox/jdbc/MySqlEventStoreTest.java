package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

class MySqlEventStoreTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MYSQL.fixture();
    }
}
