package outbox.testing.contract;

class MemoryOrderTest extends OrderContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
