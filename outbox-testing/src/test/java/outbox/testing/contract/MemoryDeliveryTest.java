package outbox.testing.contract;

class MemoryDeliveryTest extends DeliveryContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
