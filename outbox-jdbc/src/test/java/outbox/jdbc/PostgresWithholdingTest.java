package outbox.jdbc;

import outbox.testing.StoreFixture;
import outbox.testing.WithholdingContract;

class PostgresWithholdingTest extends WithholdingContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.POSTGRES.fixture();
    }

    @Override
    protected void createPauses(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.POSTGRES.store(), Capability.PAUSES);
    }
}
