package outbox.jdbc;

import outbox.testing.AttemptContract;
import outbox.testing.StoreFixture;

class MariaDbAttemptTest extends AttemptContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MARIADB.fixture();
    }

    @Override
    protected void createAttempts(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.MARIADB.store(), Capability.ATTEMPTS);
    }
}
