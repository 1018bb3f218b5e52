package outbox.spring;

import org.springframework.transaction.support.TransactionSynchronization;
import outbox.spi.TxCallbacks;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import javax.sql.DataSource;

/**
 * Runs the callbacks of one transaction. They run after completion rather than after commit: another synchronization that fails cannot keep them from running, and an outcome that
 * nobody knows is told apart.
 */
final class TxSynchronization implements TransactionSynchronization {

    private static final Logger LOG = System.getLogger(TxSynchronization.class.getName());

    private final DataSource dataSource;
    private final TxCallbacks callbacks = new TxCallbacks();
    private boolean completing; // thread of the transaction only
    private boolean inTime; // thread of the transaction only

    TxSynchronization(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    boolean isFor(DataSource candidate) {
        return dataSource == candidate;
    }

    TxCallbacks callbacks() {
        return callbacks;
    }

    /** It was registered before the callbacks before the commit began to run, for all we know. */
    void setInTime() {
        inTime = true;
    }

    boolean isInTime() {
        return inTime;
    }

    boolean isCompleting() {
        return completing;
    }

    @Override
    public void savepoint(Object savepoint) {
        callbacks.savepoint(savepoint);
    }

    @Override
    public void savepointRollback(Object savepoint) {
        callbacks.savepointRollback(savepoint);
    }

    @Override
    public void beforeCommit(boolean readOnly) {
        callbacks.committing();
    }

    @Override
    public void beforeCompletion() {
        completing = true;
    }

    @Override
    public void afterCompletion(int status) {
        switch (status) {
            case STATUS_COMMITTED -> callbacks.committed();
            case STATUS_ROLLED_BACK -> callbacks.rolledBack();
            default -> {
                LOG.log(
                        Level.WARNING,
                        "The outcome of a transaction with events is unknown; if it committed, a poller delivers them from their table");
                callbacks.unknown();
            }
        }
    }
}
