package outbox.jdbc;

import outbox.testing.ModelContract;
import outbox.testing.StoreFixture;

class H2ModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        StoreFixture fixture = Databases.H2.fixture();
        OutboxSchema.create(fixture.dataSource(), Databases.H2.store(), Capability.PAUSES);
        return fixture;
    }
}
