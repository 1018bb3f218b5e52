package outbox.jdbc;

import outbox.testing.StoreFixture;

class MySqlTextStatusLayoutTest extends TextStatusLayoutContract {

    @Override
    protected StoreFixture createFixture() {
        return LayoutFixture.textStatus(Databases.MYSQL);
    }

    @Override
    protected int largestPayload() {
        return 60_000; // TEXT
    }

    @Override
    protected boolean comparesIdsByBytes() {
        return false; // the collation of the table
    }
}
