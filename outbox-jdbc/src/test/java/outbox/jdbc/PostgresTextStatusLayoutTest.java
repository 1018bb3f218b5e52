package outbox.jdbc;

import outbox.testing.StoreFixture;

class PostgresTextStatusLayoutTest extends TextStatusLayoutContract {

    @Override
    protected StoreFixture createFixture() {
        return LayoutFixture.textStatus(Databases.POSTGRES);
    }
}
