package outbox.jdbc;

import outbox.testing.ControlContract;
import outbox.testing.StoreFixture;

class PostgresControlTest extends ControlContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.POSTGRES.fixture();
    }
}
