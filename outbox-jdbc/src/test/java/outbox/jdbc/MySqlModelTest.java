package outbox.jdbc;

import outbox.testing.ModelContract;
import outbox.testing.StoreFixture;

class MySqlModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        StoreFixture fixture = Databases.MYSQL.fixture();
        OutboxSchema.create(fixture.dataSource(), Databases.MYSQL.store(), Capability.PAUSES);
        return fixture;
    }
}
