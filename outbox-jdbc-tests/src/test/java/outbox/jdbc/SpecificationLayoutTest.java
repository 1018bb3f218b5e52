package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.EventStoreContract;
import outbox.testing.contract.StoreFixture;

/** The store contract on the specification's table, accessed through a layout description. */
class SpecificationLayoutTest {

    @Nested
    class OnH2 extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.specification(Databases.H2);
        }

        @Override
        protected boolean keepsOccurredAt() {
            return false;
        }

        @Override
        protected boolean keepsBytes() {
            return false;
        }
    }

    @Nested
    class OnPostgres extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.specification(Databases.POSTGRES);
        }

        @Override
        protected boolean keepsOccurredAt() {
            return false;
        }

        @Override
        protected boolean keepsBytes() {
            return false;
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.specification(Databases.MARIADB);
        }

        @Override
        protected boolean keepsOccurredAt() {
            return false;
        }

        @Override
        protected boolean keepsBytes() {
            return false;
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.specification(Databases.MYSQL);
        }

        @Override
        protected boolean keepsOccurredAt() {
            return false;
        }

        @Override
        protected boolean keepsBytes() {
            return false;
        }
    }
}
