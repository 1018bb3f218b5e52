package outbox.testing;

class MemoryOrderTest extends OrderContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
