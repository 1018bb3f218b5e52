package outbox.jdbc;

import outbox.testing.OrderContract;
import outbox.testing.StoreFixture;

class MySqlOrderTest extends OrderContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MYSQL.fixture();
    }
}
