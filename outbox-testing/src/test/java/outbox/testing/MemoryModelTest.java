package outbox.testing;

class MemoryModelTest extends ModelContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }
}
