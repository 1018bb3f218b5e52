package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

/** Sessions in another time zone, and drivers told to count, batch and send differently. */
class MariaDbOtherSettingsTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return Databases.MARIADB.fixture("sessionVariables=time_zone='-08:00'&useAffectedRows=true&useBulkStmts=true");
    }
}
