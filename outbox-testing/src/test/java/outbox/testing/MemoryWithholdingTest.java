package outbox.testing;

class MemoryWithholdingTest extends WithholdingContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }

    @Override
    protected boolean mayLackPauses() {
        return false;
    }

    @Override
    protected void createPauses(StoreFixture fixture) {}
}
