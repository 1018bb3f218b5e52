package outbox.jdbc;

import outbox.testing.StoreFixture;
import outbox.testing.WithholdingContract;

class H2WithholdingTest extends WithholdingContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.H2.fixture();
    }

    @Override
    protected void createPauses(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.H2.store(), Capability.PAUSES);
    }
}
