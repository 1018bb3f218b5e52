package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.StoreFixture;
import outbox.testing.contract.WithholdingContract;

class WithholdingTest {

    @Nested
    class OnH2 extends WithholdingContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.H2.fixture();
        }

        @Override
        protected void createPauses(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.H2.store(), Capability.PAUSES);
        }
    }

    @Nested
    class OnPostgres extends WithholdingContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.POSTGRES.fixture();
        }

        @Override
        protected void createPauses(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.POSTGRES.store(), Capability.PAUSES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends WithholdingContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MARIADB.fixture();
        }

        @Override
        protected void createPauses(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.MARIADB.store(), Capability.PAUSES);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends WithholdingContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MYSQL.fixture();
        }

        @Override
        protected void createPauses(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.MYSQL.store(), Capability.PAUSES);
        }
    }
}
