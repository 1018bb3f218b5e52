package outbox.jdbc;

import outbox.spi.Leadership;

/** A leadership that the test controls. */
final class TestLead implements Leadership {

    volatile boolean offered; // the result of the next lead()
    private volatile boolean leads;

    @Override
    public boolean lead() {
        leads = offered;
        return leads;
    }

    @Override
    public boolean isLeader() {
        return leads;
    }

    /** Simulates a lost session that the relay has not noticed yet. */
    void lost() {
        leads = false;
    }

    @Override
    public void close() {
        leads = false;
    }
}
