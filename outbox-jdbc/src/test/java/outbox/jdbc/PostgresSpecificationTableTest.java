package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

import java.sql.SQLException;

/** PostgreSQL does not take the specification's text; this is its nearest translation, with jsonb and times without zone. */
class PostgresSpecificationTableTest extends EventStoreContract {

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
