package outbox.jdbc;

import outbox.testing.ModelContract;
import outbox.testing.StoreFixture;

class PostgresModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        StoreFixture fixture = Databases.POSTGRES.fixture();
        OutboxSchema.create(fixture.dataSource(), Databases.POSTGRES.store(), Capability.PAUSES);
        return fixture;
    }
}
