package outbox.jdbc;

import outbox.testing.ModelContract;
import outbox.testing.StoreFixture;

class MySqlModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        StoreFixture fixture = Databases.MYSQL.fixture();
        OutboxSchema.createPauses(fixture.dataSource(), Databases.MYSQL.store());
        return fixture;
    }
}
