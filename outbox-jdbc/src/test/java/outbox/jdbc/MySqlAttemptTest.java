package outbox.jdbc;

import outbox.testing.AttemptContract;
import outbox.testing.StoreFixture;

class MySqlAttemptTest extends AttemptContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MYSQL.fixture();
    }

    @Override
    protected void createAttempts(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.MYSQL.store(), Capability.ATTEMPTS);
    }
}
