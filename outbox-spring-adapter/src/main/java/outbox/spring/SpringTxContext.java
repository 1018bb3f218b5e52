package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.SimpleConnectionHandle;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.ResourceHolderSupport;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.TransactionStateException;
import outbox.spi.TxCallbacks;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * Spring's transaction on one data source. It is active only if this data source takes part in the transaction. In
 * a transaction of another data source, the event would be stored independently of the business change. Works with
 * any transaction manager that binds the data source's connection to the thread, such as the managers for JDBC,
 * JPA and Hibernate.
 *
 * <p>Callbacks run once the outcome of the transaction is certain. They follow the savepoints of nested transactions
 * and wait while their transaction is suspended. They belong to the transaction of this data source, even if
 * transactions of several managers are nested on one thread. While a transaction of another manager runs inside it,
 * no callback is accepted, and {@link #visibility} is {@link Visibility#NONE}. Savepoints that the application sets
 * directly on the connection are not noticed.
 *
 * <p>A context that has the transaction manager observes each transaction from its beginning. Without the manager,
 * it assumes that the current transaction is its own if no other connection or session on the thread takes part in a
 * transaction. A manager that binds nothing to the thread, such as the JTA manager, cannot be noticed before the
 * first write. If such a manager is used inside transactions of this data source, pass the transaction manager to
 * the constructor.
 */
public final class SpringTxContext implements TxContext {

    private static final TransactionDefinition JOIN_IF_ANY =
            new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_SUPPORTS);
    private static final String MYBATIS = "org.mybatis.spring.SqlSessionHolder"; // has no transactions of its own

    private final DataSource dataSource;
    // only checks whether a transaction is active; it never begins one
    private final DataSourceTransactionManager probe;
    private final TxBeginListener begins;
    private volatile boolean listens; // written by listenTo, read by any thread; never reset to false

    public SpringTxContext(DataSource dataSource) {
        requireSavepointCallbacks();
        Objects.requireNonNull(dataSource, "dataSource");
        this.dataSource = dataSource instanceof TransactionAwareDataSourceProxy proxy
                ? Objects.requireNonNull(proxy.getTargetDataSource(), "targetDataSource")
                : dataSource; // transaction managers bind the target data source
        probe = new DataSourceTransactionManager(this.dataSource);
        probe.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
        begins = new TxBeginListener(this.dataSource);
    }

    /** Creates a context that observes the transactions of the data source through its transaction manager. */
    public SpringTxContext(DataSource dataSource, ConfigurableTransactionManager transactionManager) {
        this(dataSource);
        listenTo(transactionManager);
    }

    /**
     * Observes the beginning of each transaction of the manager. Afterwards, callbacks are accepted only in
     * transactions whose beginning was observed. Passing a manager of another data source has no effect on this one.
     */
    public void listenTo(ConfigurableTransactionManager transactionManager) {
        Collection<TransactionExecutionListener> known = transactionManager.getTransactionExecutionListeners();
        if (!known.contains(begins)) {
            List<TransactionExecutionListener> all = new ArrayList<>(known);
            all.add(begins);
            // replaces the whole list, because transactions may begin at the same time
            transactionManager.setTransactionExecutionListeners(all);
        }
        listens = true;
    }

    /**
     * Requires a Spring version with savepoint callbacks. Without them, an event of a rolled-back savepoint would be
     * delivered although it does not exist.
     */
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
                && isOpen(holder);
    }

    @Override
    public Connection currentConnection() {
        requireTransaction();
        return DataSourceUtils.getConnection(dataSource);
    }

    @Override
    public Visibility visibility() {
        return synchronization() == null ? Visibility.NONE : Visibility.END_ONLY;
    }

    @Override
    public void afterCommit(Runnable callback) {
        callbacks().afterCommit(callback);
    }

    @Override
    public void afterRollback(Runnable callback) {
        callbacks().afterRollback(callback);
    }

    @Override
    public boolean beforeCommit(Runnable callback) {
        TxSynchronization ours = synchronization();
        return ours != null && ours.callbacks().beforeCommit(callback);
    }

    @Override
    public boolean whenUndone(Runnable callback) {
        TxSynchronization ours = synchronization();
        if (ours != null) {
            ours.callbacks().whenUndone(callback);
        }
        return ours != null;
    }

    @Override
    public boolean whenUnknown(Runnable callback) {
        TxSynchronization ours = synchronization();
        if (ours != null) {
            ours.callbacks().whenUnknown(callback);
        }
        return ours != null;
    }

    /**
     * Returns a scope only if our callback before the commit is certain to run. A callback that is registered while
     * the callbacks before the commit already run is never called.
     */
    @Override
    public @Nullable Object scope() {
        TxSynchronization ours = synchronization();
        if (ours == null) {
            return null;
        }
        if (!ours.isInTime()) {
            if (CallOrigin.current() != CallOrigin.BUSINESS) {
                return null;
            }
            ours.setInTime();
        }
        return ours.callbacks().scope();
    }

    /**
     * Spring reports the read-only flag of the innermost transaction. If that is another transaction, the connection
     * is asked.
     */
    @Override
    public boolean isReadOnly() {
        return isTransactionActive() && synchronization() == null
                ? TxContext.super.isReadOnly()
                : TransactionSynchronizationManager.isCurrentTransactionReadOnly();
    }

    /**
     * Whether the transaction that bound the connection has not begun to complete. Spring reports a transaction as
     * active until its after-commit callbacks have run, but a write in such a callback is too late. Our
     * synchronization knows the state. Without a synchronization, the stack is searched for the nearest frame: the
     * begin of a transaction, or an after-commit callback.
     */
    private boolean isOpen(ConnectionHolder holder) {
        TxSynchronization known = TxSynchronization.of(holder);
        return known != null
                ? !known.isCompleting()
                : isBoundByItsTransaction(holder) && CallOrigin.current() != CallOrigin.AFTER_COMMIT;
    }

    /**
     * Spring also binds a connection that was only used during a transaction of another data source, and nobody
     * commits that connection. A JDBC transaction manager recognizes a transaction that another JDBC manager began.
     * The managers for JPA and Hibernate bind a connection handle of their own.
     */
    private boolean isBoundByItsTransaction(ConnectionHolder holder) {
        return !(holder.getConnectionHandle() instanceof SimpleConnectionHandle)
                || probe.getTransaction(JOIN_IF_ANY).hasTransaction();
    }

    private void requireTransaction() {
        if (!isTransactionActive()) {
            throw new TransactionStateException(
                    "No transaction of this data source is active on this thread. Is the method"
                            + " @Transactional, with the transaction manager of this data source, and not"
                            + " called from an after-commit callback?");
        }
    }

    private TxCallbacks callbacks() {
        TxSynchronization ours = synchronization();
        if (ours == null) {
            throw new TransactionStateException(
                    "A transaction of another manager may be active on this thread, inside that of this data source, so"
                            + " a callback would follow the wrong one. Register it outside of the inner transaction, or"
                            + " give SpringTxContext the transaction manager of this data source.");
        }
        return ours.callbacks();
    }

    /**
     * Returns the synchronization of the transaction that bound the connection, or null if the current
     * synchronizations belong, or may belong, to another transaction.
     */
    private @Nullable TxSynchronization synchronization() {
        requireTransaction();
        ConnectionHolder holder =
                (ConnectionHolder) Objects.requireNonNull(TransactionSynchronizationManager.getResource(dataSource));
        TxSynchronization known = TxSynchronization.of(holder);
        if (known == null && !listens && isAlone(holder)) {
            known = TxSynchronization.register(holder);
        }
        return known == null || known.isSuspended() ? null : known;
    }

    /**
     * Whether everything on the thread that takes part in a transaction belongs to our transaction: its connection,
     * and the JPA or Hibernate session that the connection comes from.
     */
    private static boolean isAlone(ConnectionHolder holder) {
        boolean ofSession = !(holder.getConnectionHandle() instanceof SimpleConnectionHandle);
        long others = TransactionSynchronizationManager.getResourceMap().values().stream()
                .filter(value -> value != holder && mayBeOfTransaction(value))
                .count();
        return others <= (ofSession ? 1 : 0);
    }

    private static boolean mayBeOfTransaction(Object resource) {
        if (resource instanceof TxSynchronization
                || resource.getClass().getName().equals(MYBATIS)) {
            return false;
        }
        return !(resource instanceof ResourceHolderSupport bound) || bound.isSynchronizedWithTransaction();
    }
}
