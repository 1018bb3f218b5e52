package outbox.jdbc;

import outbox.testing.StoreFixture;

class H2TextStatusLayoutTest extends TextStatusLayoutContract {

    @Override
    protected StoreFixture createFixture() {
        return LayoutFixture.textStatus(Databases.H2);
    }
}
