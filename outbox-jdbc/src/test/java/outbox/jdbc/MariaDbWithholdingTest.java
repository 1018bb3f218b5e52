package outbox.jdbc;

import outbox.testing.StoreFixture;
import outbox.testing.WithholdingContract;

class MariaDbWithholdingTest extends WithholdingContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MARIADB.fixture();
    }

    @Override
    protected void createPauses(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.MARIADB.store(), Capability.PAUSES);
    }
}
