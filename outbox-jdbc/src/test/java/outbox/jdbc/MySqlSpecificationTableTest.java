package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

import java.sql.SQLException;

/** MySQL's JSON keeps the meaning of a payload, not its characters. */
class MySqlSpecificationTableTest extends EventStoreContract {

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
