package outbox.jdbc;

import outbox.testing.ControlContract;
import outbox.testing.StoreFixture;

class MySqlControlTest extends ControlContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MYSQL.fixture();
    }
}
