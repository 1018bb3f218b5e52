package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

import java.sql.SQLException;

/** The specification's text runs on H2 in its MySQL mode; its JSON type keeps the meaning of a payload, not its characters. */
class H2SpecificationTableTest extends EventStoreContract {

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
