package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

class PostgresEventStoreTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.POSTGRES.fixture();
    }
}
