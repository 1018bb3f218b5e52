package outbox.testing.contract;

class MemoryEventStoreTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }

    @Override
    protected boolean locksRows() {
        return false;
    }
}
