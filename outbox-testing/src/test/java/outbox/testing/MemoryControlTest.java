package outbox.testing;

class MemoryControlTest extends ControlContract {

    @Override
    protected StoreFixture createFixture() {
        return MemoryFixture.create();
    }

    @Override
    protected boolean sharesClaimsByAge() {
        return false;
    }
}
