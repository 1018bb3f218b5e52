package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.spi.SafeLogger;
import outbox.spi.TxCallbacks;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/**
 * Runs the callbacks of one transaction. They run after completion rather than after commit: another synchronization that fails cannot keep them from running, and an outcome that
 * nobody knows is told apart.
 *
 * <p>It is found by the holder of the transaction's connection, so that it is also known while it is suspended: a
 * manager of another data source that begins a transaction suspends it and leaves the connection bound.
 */
final class TxSynchronization implements TransactionSynchronization {

    private static final Logger LOG = SafeLogger.of(TxSynchronization.class);

    private final ConnectionHolder holder;
    private @Nullable TxCallbacks callbacks; // thread of the transaction only, as what follows
    private boolean completing;
    private boolean inTime;
    private boolean suspended;

    private TxSynchronization(ConnectionHolder holder) {
        this.holder = holder;
    }

    /** The one of the transaction that bound the connection; null if it has none yet. */
    static @Nullable TxSynchronization of(ConnectionHolder holder) {
        return TransactionSynchronizationManager.getResource(holder) instanceof TxSynchronization known ? known : null;
    }

    /** Registers one with the current transaction, which must be the one that bound the connection. */
    static TxSynchronization register(ConnectionHolder holder) {
        TxSynchronization fresh = new TxSynchronization(holder);
        TransactionSynchronizationManager.registerSynchronization(fresh);
        TransactionSynchronizationManager.bindResource(holder, fresh);
        return fresh;
    }

    TxCallbacks callbacks() {
        TxCallbacks known = callbacks;
        if (known == null) {
            known = new TxCallbacks();
            callbacks = known;
        }
        return known;
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

    /** Whether the synchronizations of another transaction are in its place now. */
    boolean isSuspended() {
        return suspended;
    }

    @Override
    public void suspend() {
        suspended = true;
    }

    @Override
    public void resume() {
        suspended = false;
    }

    @Override
    public void savepoint(Object savepoint) {
        if (callbacks != null) { // one that is not known was set before the first callback
            callbacks.savepoint(savepoint);
        }
    }

    @Override
    public void savepointRollback(Object savepoint) {
        if (callbacks != null) {
            callbacks.savepointRollback(savepoint);
        }
    }

    @Override
    public void beforeCommit(boolean readOnly) {
        callbacks().committing();
    }

    @Override
    public void beforeCompletion() {
        completing = true;
    }

    @Override
    public void afterCompletion(int status) {
        TransactionSynchronizationManager.unbindResourceIfPossible(holder);
        if (callbacks == null) {
            return;
        }
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
