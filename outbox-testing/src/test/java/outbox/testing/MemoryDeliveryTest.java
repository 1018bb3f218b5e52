package outbox.testing;

class MemoryDeliveryTest extends DeliveryContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
