package outbox.jdbc;

import outbox.testing.ModelContract;
import outbox.testing.StoreFixture;

class MariaDbModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        StoreFixture fixture = Databases.MARIADB.fixture();
        OutboxSchema.create(fixture.dataSource(), Databases.MARIADB.store(), Capability.PAUSES);
        return fixture;
    }
}
