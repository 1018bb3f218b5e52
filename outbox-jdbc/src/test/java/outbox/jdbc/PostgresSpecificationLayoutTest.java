package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

import java.sql.SQLException;

/** The contract on the specification's table, used by its description. */
class PostgresSpecificationLayoutTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() throws SQLException {
        return LayoutFixture.specification(Databases.POSTGRES);
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
