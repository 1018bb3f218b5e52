package outbox.jdbc;

import outbox.testing.OrderContract;
import outbox.testing.StoreFixture;

class MariaDbOrderTest extends OrderContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MARIADB.fixture();
    }
}
