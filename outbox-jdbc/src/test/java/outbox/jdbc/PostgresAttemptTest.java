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
        OutboxSchema.createAttempts(fixture.dataSource(), Databases.POSTGRES.store());
    }
}
