package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.contract.EventStoreContract;
import outbox.testing.contract.StoreFixture;

/**
 * Sessions in another time zone, and drivers with other settings for update counts, batches and statements. H2 has
 * no such settings.
 */
class OtherSettingsTest {

    @Nested
    class OnPostgres extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.POSTGRES.fixture("options=-c%20TimeZone=America/New_York&preferQueryMode=simple");
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MARIADB.fixture(
                    "sessionVariables=time_zone='-08:00'&useAffectedRows=true&useBulkStmts=true");
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends EventStoreContract {

        @Override
        protected StoreFixture createFixture() {
            return Databases.MYSQL.fixture(
                    "connectionTimeZone=-05:00&forceConnectionTimeZoneToSession=true&useAffectedRows=true&rewriteBatchedStatements=true");
        }
    }
}
