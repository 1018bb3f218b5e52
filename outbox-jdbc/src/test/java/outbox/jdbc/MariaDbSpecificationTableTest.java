package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

import java.sql.SQLException;

/** MariaDB's JSON is text with a check: what is not JSON is refused. */
class MariaDbSpecificationTableTest extends EventStoreContract {

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
