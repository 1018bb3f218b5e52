package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.DeliveryContract;
import outbox.testing.contract.StoreFixture;

/** Not on MySQL, because it uses the MariaDB store; ModelTest and EngineTest run there. */
class DeliveryTest {

    @Nested
    class OnH2 extends DeliveryContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.H2.fixture();
        }
    }

    @Nested
    class OnPostgres extends DeliveryContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.POSTGRES.fixture();
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends DeliveryContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MARIADB.fixture();
        }
    }
}
