package outbox.jdbc;

import outbox.testing.OrderContract;
import outbox.testing.StoreFixture;

class PostgresOrderTest extends OrderContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.POSTGRES.fixture();
    }
}
