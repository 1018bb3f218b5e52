package outbox.testing.contract;

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
