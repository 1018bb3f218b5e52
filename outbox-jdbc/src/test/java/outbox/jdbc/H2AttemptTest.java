package outbox.jdbc;

import outbox.testing.AttemptContract;
import outbox.testing.StoreFixture;

class H2AttemptTest extends AttemptContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.H2.fixture();
    }

    @Override
    protected void createAttempts(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.H2.store(), Capability.ATTEMPTS);
    }
}
