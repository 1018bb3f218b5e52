package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.StoreFixture;

class TextStatusLayoutTest {

    @Nested
    class OnH2 extends TextStatusLayoutContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.textStatus(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends TextStatusLayoutContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.textStatus(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends TextStatusLayoutContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.textStatus(Databases.MARIADB);
        }

        @Override
        protected int largestPayload() {
            return 60_000; // TEXT
        }

        @Override
        protected boolean comparesIdsByBytes() {
            return false; // the collation of the table
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends TextStatusLayoutContract {

        @Override
        protected StoreFixture createFixture() {
            return LayoutFixture.textStatus(Databases.MYSQL);
        }

        @Override
        protected int largestPayload() {
            return 60_000; // TEXT
        }

        @Override
        protected boolean comparesIdsByBytes() {
            return false; // the collation of the table
        }
    }
}
