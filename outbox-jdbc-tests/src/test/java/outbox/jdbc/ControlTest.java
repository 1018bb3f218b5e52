package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.ControlContract;
import outbox.testing.contract.StoreFixture;

class ControlTest {

    @Nested
    class OnH2 extends ControlContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.H2.fixture();
        }
    }

    @Nested
    class OnPostgres extends ControlContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.POSTGRES.fixture();
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ControlContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MARIADB.fixture();
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends ControlContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MYSQL.fixture();
        }
    }
}
