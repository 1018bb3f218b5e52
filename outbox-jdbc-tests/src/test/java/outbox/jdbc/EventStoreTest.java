package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.EventStoreContract;
import outbox.testing.contract.StoreFixture;

class EventStoreTest {

    @Nested
    class OnH2 extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.H2.fixture();
        }
    }

    @Nested
    class OnPostgres extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.POSTGRES.fixture();
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MARIADB.fixture();
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MYSQL.fixture();
        }
    }
}
