package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

import java.sql.SQLException;

/** The specification's table with the types that older guides use on H2. */
class H2ClobTableTest extends EventStoreContract {

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
