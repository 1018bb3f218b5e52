package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.internal.text.SafeLogger;
import outbox.spi.TxCallbacks;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/**
 * Runs the callbacks of one transaction. They run after completion instead of after commit, for two reasons: a
 * failure in another synchronization cannot prevent them, and an unknown outcome can be distinguished.
 *
 * <p>The synchronization is found through the holder of the transaction's connection, so that it is also found while
 * it is suspended. When a manager of another data source begins a transaction, it suspends the synchronization and
 * leaves the connection bound.
 */
final class TxSynchronization implements TransactionSynchronization {

    private static final Logger LOG = SafeLogger.of(TxSynchronization.class);

    private final ConnectionHolder holder;
    private @Nullable TxCallbacks callbacks; // used only by the thread of the transaction
    private boolean completing; // used only by the thread of the transaction
    private boolean inTime; // used only by the thread of the transaction
    private boolean suspended; // used only by the thread of the transaction

    private TxSynchronization(ConnectionHolder holder) {
        this.holder = holder;
    }

    /** Returns the synchronization of the transaction that bound the connection, or null if it has none yet. */
    static @Nullable TxSynchronization of(ConnectionHolder holder) {
        return TransactionSynchronizationManager.getResource(holder) instanceof TxSynchronization known ? known : null;
    }

    /**
     * Registers a synchronization with the current transaction. That must be the transaction that
     * bound the connection.
     */
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

    /** Records that the synchronization was registered before the callbacks before the commit began to run. */
    void setInTime() {
        inTime = true;
    }

    boolean isInTime() {
        return inTime;
    }

    boolean isCompleting() {
        return completing;
    }

    /** Whether the thread currently has the synchronizations of another transaction. */
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
        if (callbacks != null) { // a savepoint that is not known was set before the first callback
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
                        "The outcome of a transaction with events is unknown; if it committed, a poller"
                                + " delivers them from their table");
                callbacks.unknown();
            }
        }
    }
}
