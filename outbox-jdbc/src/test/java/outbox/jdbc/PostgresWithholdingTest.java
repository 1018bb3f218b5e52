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
        OutboxSchema.createPauses(fixture.dataSource(), Databases.POSTGRES.store());
    }
}
