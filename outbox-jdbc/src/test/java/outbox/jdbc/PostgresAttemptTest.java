package outbox.jdbc;

import outbox.testing.AttemptContract;
import outbox.testing.StoreFixture;

class PostgresAttemptTest extends AttemptContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.POSTGRES.fixture();
    }

    @Override
    protected void createAttempts(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.POSTGRES.store(), Capability.ATTEMPTS);
    }
}
