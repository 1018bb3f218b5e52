package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.EventStoreContract;
import outbox.testing.contract.StoreFixture;

import java.sql.SQLException;

class SpecificationTableTest {

    /**
     * The text of the specification runs on H2 in MySQL mode. The JSON type of H2 does not preserve the text of
     * a payload.
     */
    @Nested
    class OnH2 extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() throws SQLException {
            return Databases.H2_AS_MYSQL.fixture(SpecificationTable.TEXT, false);
        }

        @Override
        protected boolean keepsTextVerbatim() {
            return false;
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

    /** The specification's table with the column types that older guides use on H2. */
    @Nested
    class OnH2WithClob extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() throws SQLException {
            return Databases.H2.fixture(SpecificationTable.CLOB_AND_TIMESTAMP, false);
        }

        @Override
        protected boolean keepsTextVerbatim() {
            return true;
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

    /**
     * PostgreSQL does not accept the text of the specification. This is the closest translation, with jsonb and
     * times without time zone.
     */
    @Nested
    class OnPostgres extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() throws SQLException {
            return Databases.POSTGRES.fixture(SpecificationTable.POSTGRES_WITHOUT_ZONE, false);
        }

        @Override
        protected boolean keepsTextVerbatim() {
            return false;
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

    /** The JSON type of MariaDB is text with a check that rejects invalid JSON. */
    @Nested
    @Tag("mariadb")
    class OnMariaDb extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() throws SQLException {
            return Databases.MARIADB.fixture(SpecificationTable.TEXT, false);
        }

        @Override
        protected boolean keepsTextVerbatim() {
            return false;
        }

        @Override
        protected boolean keepsOccurredAt() {
            return false;
        }

        @Override
        protected boolean keepsBytes() {
            return false;
        }

        @Override
        protected boolean comparesIdsByBytes() {
            return false; // the default collation of the server
        }
    }

    /** The JSON type of MySQL does not preserve the text of a payload. */
    @Nested
    @Tag("mysql")
    class OnMySql extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() throws SQLException {
            return Databases.MYSQL.fixture(SpecificationTable.TEXT, false);
        }

        @Override
        protected boolean keepsTextVerbatim() {
            return false;
        }

        @Override
        protected boolean keepsOccurredAt() {
            return false;
        }

        @Override
        protected boolean keepsBytes() {
            return false;
        }

        @Override
        protected boolean comparesIdsByBytes() {
            return false; // the default collation of the server
        }
    }
}
