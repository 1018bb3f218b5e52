package outbox.jdbc;

import outbox.testing.ControlContract;
import outbox.testing.StoreFixture;

class H2ControlTest extends ControlContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.H2.fixture();
    }
}
