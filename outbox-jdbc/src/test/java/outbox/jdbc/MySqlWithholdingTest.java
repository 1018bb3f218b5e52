package outbox.jdbc;

import outbox.testing.StoreFixture;
import outbox.testing.WithholdingContract;

class MySqlWithholdingTest extends WithholdingContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MYSQL.fixture();
    }

    @Override
    protected void createPauses(StoreFixture fixture) {
        OutboxSchema.create(fixture.dataSource(), Databases.MYSQL.store(), Capability.PAUSES);
    }
}
