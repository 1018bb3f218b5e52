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
        OutboxSchema.createAttempts(fixture.dataSource(), Databases.H2.store());
    }
}
