package outbox.testing;

class MemoryControlTest extends ControlContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
