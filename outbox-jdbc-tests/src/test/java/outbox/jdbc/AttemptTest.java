package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.AttemptContract;
import outbox.testing.contract.StoreFixture;

class AttemptTest {

    @Nested
    class OnH2 extends AttemptContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.H2.fixture();
        }

        @Override
        protected void createAttempts(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.H2.store(), Capability.ATTEMPTS);
        }
    }

    @Nested
    class OnPostgres extends AttemptContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.POSTGRES.fixture();
        }

        @Override
        protected void createAttempts(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.POSTGRES.store(), Capability.ATTEMPTS);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends AttemptContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MARIADB.fixture();
        }

        @Override
        protected void createAttempts(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.MARIADB.store(), Capability.ATTEMPTS);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends AttemptContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MYSQL.fixture();
        }

        @Override
        protected void createAttempts(StoreFixture fixture) {
            OutboxSchema.create(fixture.dataSource(), Databases.MYSQL.store(), Capability.ATTEMPTS);
        }
    }
}
