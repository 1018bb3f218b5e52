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
        OutboxSchema.createPauses(fixture.dataSource(), Databases.MARIADB.store());
    }
}
