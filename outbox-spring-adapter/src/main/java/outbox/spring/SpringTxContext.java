package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.SimpleConnectionHandle;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.TransactionStateException;
import outbox.spi.TxCallbacks;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * Spring's transaction on one data source. It is active only if this very data source takes part: a transaction of another data source's manager would store the event on its
 * own, whatever becomes of the business change.
 *
 * <p>Callbacks run once the outcome is known for sure, follow savepoints of nested transactions and wait while their transaction is suspended. Works with any transaction manager
 * that binds the data source's connection to the thread, such as those for JDBC, JPA and Hibernate.
 */
public final class SpringTxContext implements TxContext {

    private static final TransactionDefinition JOIN_IF_ANY =
            new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_SUPPORTS);

    private final DataSource dataSource;
    private final DataSourceTransactionManager probe; // asked whether there is a transaction; it never begins one

    public SpringTxContext(DataSource dataSource) {
        requireSavepointCallbacks();
        Objects.requireNonNull(dataSource, "dataSource");
        this.dataSource = dataSource instanceof TransactionAwareDataSourceProxy proxy
                ? Objects.requireNonNull(proxy.getTargetDataSource(), "targetDataSource")
                : dataSource; // what a transaction manager binds is the target
        probe = new DataSourceTransactionManager(this.dataSource);
        probe.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
    }

    /** Without them, an event of a rolled-back savepoint would be delivered though it does not exist. */
    private static void requireSavepointCallbacks() {
        try {
            TransactionSynchronization.class.getMethod("savepointRollback", Object.class);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(
                    "Spring 6.2 or newer is needed: older ones do not tell about savepoints", e);
        }
    }

    @Override
    public boolean isTransactionActive() {
        return TransactionSynchronizationManager.isActualTransactionActive()
                && TransactionSynchronizationManager.isSynchronizationActive()
                && TransactionSynchronizationManager.getResource(dataSource) instanceof ConnectionHolder holder
                && isBoundByItsTransaction(holder)
                && !isCommitting();
    }

    @Override
    public Connection currentConnection() {
        requireTransaction();
        return DataSourceUtils.getConnection(dataSource);
    }

    @Override
    public void afterCommit(Runnable callback) {
        requireTransaction();
        callbacks().afterCommit(callback);
    }

    @Override
    public void afterRollback(Runnable callback) {
        requireTransaction();
        callbacks().afterRollback(callback);
    }

    @Override
    public boolean beforeCommit(Runnable callback) {
        requireTransaction();
        return callbacks().beforeCommit(callback);
    }

    @Override
    public boolean whenUndone(Runnable callback) {
        requireTransaction();
        callbacks().whenUndone(callback);
        return true;
    }

    @Override
    public boolean whenUnknown(Runnable callback) {
        requireTransaction();
        callbacks().whenUnknown(callback);
        return true;
    }

    /** Only where it is sure that our callback before the commit will run: one that is registered while such callbacks run already never does. */
    @Override
    public @Nullable Object scope() {
        requireTransaction();
        TxSynchronization known = registered();
        if (known != null && known.isInTime()) {
            return known.callbacks().scope();
        }
        if (CallOrigin.current() != CallOrigin.BUSINESS) {
            return null;
        }
        TxSynchronization ours = synchronization();
        ours.setInTime();
        return ours.callbacks().scope();
    }

    @Override
    public boolean isReadOnly() {
        return TransactionSynchronizationManager.isCurrentTransactionReadOnly();
    }

    /**
     * Spring also binds a connection that was merely used during a transaction of another data source, and nobody commits that one. What a JDBC transaction manager began, another
     * one recognises; managers for JPA and Hibernate bind a handle of their own.
     */
    private boolean isBoundByItsTransaction(ConnectionHolder holder) {
        return !(holder.getConnectionHandle() instanceof SimpleConnectionHandle)
                || probe.getTransaction(JOIN_IF_ANY).hasTransaction();
    }

    private void requireTransaction() {
        if (!isTransactionActive()) {
            throw new TransactionStateException(
                    "No transaction of this data source is active on this thread. Is the method @Transactional, with the"
                            + " transaction manager of this data source, and not called from an after-commit callback?");
        }
    }

    private TxCallbacks callbacks() {
        return synchronization().callbacks();
    }

    private TxSynchronization synchronization() {
        TxSynchronization known = registered();
        if (known == null) {
            known = new TxSynchronization(dataSource);
            TransactionSynchronizationManager.registerSynchronization(known);
        }
        return known;
    }

    private @Nullable TxSynchronization registered() {
        for (TransactionSynchronization candidate : TransactionSynchronizationManager.getSynchronizations()) {
            if (candidate instanceof TxSynchronization ours && ours.isFor(dataSource)) {
                return ours;
            }
        }
        return null;
    }

    /**
     * Spring calls a transaction active until its after-commit callbacks have run, but what is written there comes too late. Our own callbacks know it if the transaction wrote
     * before; otherwise the stack tells, by whatever is nearer: the begin of a transaction, or an after-commit callback.
     */
    private boolean isCommitting() {
        TxSynchronization known = registered();
        return known != null ? known.isCompleting() : CallOrigin.current() == CallOrigin.AFTER_COMMIT;
    }
}
