package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.ModelContract;
import outbox.testing.contract.StoreFixture;

class ModelTest {

    @Nested
    class OnH2 extends ModelContract {

        @Override
        protected StoreFixture createFixture() {
            StoreFixture fixture = Databases.H2.fixture();
            OutboxSchema.create(fixture.dataSource(), Databases.H2.store(), Capability.PAUSES);
            return fixture;
        }
    }

    @Nested
    class OnPostgres extends ModelContract {

        @Override
        protected StoreFixture createFixture() {
            StoreFixture fixture = Databases.POSTGRES.fixture();
            OutboxSchema.create(fixture.dataSource(), Databases.POSTGRES.store(), Capability.PAUSES);
            return fixture;
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ModelContract {

        @Override
        protected StoreFixture createFixture() {
            StoreFixture fixture = Databases.MARIADB.fixture();
            OutboxSchema.create(fixture.dataSource(), Databases.MARIADB.store(), Capability.PAUSES);
            return fixture;
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends ModelContract {

        @Override
        protected StoreFixture createFixture() {
            StoreFixture fixture = Databases.MYSQL.fixture();
            OutboxSchema.create(fixture.dataSource(), Databases.MYSQL.store(), Capability.PAUSES);
            return fixture;
        }
    }
}
