package outbox.jdbc;

import outbox.testing.ControlContract;
import outbox.testing.StoreFixture;

class MariaDbControlTest extends ControlContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MARIADB.fixture();
    }
}
