package outbox.testing.contract;

class MemoryModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
