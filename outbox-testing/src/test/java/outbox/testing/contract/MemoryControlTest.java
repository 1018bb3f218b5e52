package outbox.testing.contract;

class MemoryControlTest extends ControlContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
