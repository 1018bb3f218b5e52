package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

/** Sessions in another time zone, and drivers told to count, batch and send differently. */
class MySqlOtherSettingsTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MYSQL.fixture(
                "connectionTimeZone=-05:00&forceConnectionTimeZoneToSession=true&useAffectedRows=true&rewriteBatchedStatements=true");
    }
}
