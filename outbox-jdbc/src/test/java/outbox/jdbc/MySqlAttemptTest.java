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
        OutboxSchema.createAttempts(fixture.dataSource(), Databases.MYSQL.store());
    }
}
