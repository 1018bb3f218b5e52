package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

/** Sessions in another time zone, and drivers told to count, batch and send differently. */
class PostgresOtherSettingsTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.POSTGRES.fixture("options=-c%20TimeZone=America/New_York&preferQueryMode=simple");
    }
}
