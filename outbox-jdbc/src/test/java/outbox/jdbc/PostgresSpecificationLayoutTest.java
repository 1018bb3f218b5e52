package outbox.jdbc;

import outbox.testing.EventStoreContract;
import outbox.testing.StoreFixture;

/** The contract on the specification's table, used by its description. */
class PostgresSpecificationLayoutTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
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
