package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.OrderContract;
import outbox.testing.contract.StoreFixture;

class OrderTest {

    @Nested
    class OnH2 extends OrderContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.H2.fixture();
        }
    }

    @Nested
    class OnPostgres extends OrderContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.POSTGRES.fixture();
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends OrderContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MARIADB.fixture();
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends OrderContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MYSQL.fixture();
        }
    }
}
