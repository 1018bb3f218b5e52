package outbox.jdbc;

import outbox.spi.Leadership;

/** A lead that the test gives and takes. */
final class TestLead implements Leadership {

    volatile boolean offered; // what the next lead() answers
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

    /** The session died, and nobody has asked yet. */
    void lost() {
        leads = false;
    }

    @Override
    public void close() {
        leads = false;
    }
}
