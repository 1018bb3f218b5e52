package outbox.jdbc;

import outbox.testing.ModelContract;
import outbox.testing.StoreFixture;

class PostgresModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        StoreFixture fixture = Databases.POSTGRES.fixture();
        OutboxSchema.createPauses(fixture.dataSource(), Databases.POSTGRES.store());
        return fixture;
    }
}
