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
 * Spring's transaction on one data source. It is active only if this very data source takes part: a transaction of another data source's manager would store the event on its
 * own, whatever becomes of the business change. Works with any transaction manager that binds the data source's
 * connection to the thread, such as those for JDBC, JPA and Hibernate.
 *
 * <p>Callbacks run once the outcome is known for sure, follow savepoints of nested transactions and wait while their
 * transaction is suspended. They belong to the transaction of this data source, also where transactions of several
 * managers are nested on a thread: while one of another manager is inside it, no callback is accepted, and
 * {@link #visibility} is {@link Visibility#NONE}. Savepoints that are set on the connection are not seen.
 *
 * <p>A context that was given the transaction manager knows each transaction from its begin. Without the manager, it
 * takes the current transaction for its own if nothing on the thread points to another one: no other connection or
 * session takes part in a transaction. A manager that binds nothing to the thread, such as that of JTA, cannot be
 * noticed before the first write; if one is used inside transactions of this data source, give the manager.
 */
public final class SpringTxContext implements TxContext {

    private static final TransactionDefinition JOIN_IF_ANY =
            new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_SUPPORTS);
    private static final String MYBATIS = "org.mybatis.spring.SqlSessionHolder"; // has no transactions of its own

    private final DataSource dataSource;
    private final DataSourceTransactionManager probe; // asked whether there is a transaction; it never begins one
    private final TxBeginListener begins;
    private volatile boolean listens; // written by listenTo, read by all; never false again

    public SpringTxContext(DataSource dataSource) {
        requireSavepointCallbacks();
        Objects.requireNonNull(dataSource, "dataSource");
        this.dataSource = dataSource instanceof TransactionAwareDataSourceProxy proxy
                ? Objects.requireNonNull(proxy.getTargetDataSource(), "targetDataSource")
                : dataSource; // what a transaction manager binds is the target
        probe = new DataSourceTransactionManager(this.dataSource);
        probe.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
        begins = new TxBeginListener(this.dataSource);
    }

    /** A context that knows the transactions of the data source by its transaction manager. */
    public SpringTxContext(DataSource dataSource, ConfigurableTransactionManager transactionManager) {
        this(dataSource);
        listenTo(transactionManager);
    }

    /**
     * Makes the begin of each transaction of the manager known here. From then on, callbacks are accepted in
     * transactions that began so, and in no others. A manager of another data source does no harm.
     */
    public void listenTo(ConfigurableTransactionManager transactionManager) {
        Collection<TransactionExecutionListener> known = transactionManager.getTransactionExecutionListeners();
        if (!known.contains(begins)) {
            List<TransactionExecutionListener> all = new ArrayList<>(known);
            all.add(begins);
            transactionManager.setTransactionExecutionListeners(all); // transactions may begin while this is called
        }
        listens = true;
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

    /** Only where it is sure that our callback before the commit will run: one that is registered while such callbacks run already never does. */
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

    /** What Spring says is about the innermost transaction; if that is another one, the connection knows. */
    @Override
    public boolean isReadOnly() {
        return isTransactionActive() && synchronization() == null
                ? TxContext.super.isReadOnly()
                : TransactionSynchronizationManager.isCurrentTransactionReadOnly();
    }

    /**
     * Whether the transaction that bound the connection has not begun to end. Spring calls a transaction active until
     * its after-commit callbacks have run, but what is written there comes too late. Our synchronization knows it;
     * without one the stack tells, by whatever is nearer: the begin of a transaction, or an after-commit callback.
     */
    private boolean isOpen(ConnectionHolder holder) {
        TxSynchronization known = TxSynchronization.of(holder);
        return known != null
                ? !known.isCompleting()
                : isBoundByItsTransaction(holder) && CallOrigin.current() != CallOrigin.AFTER_COMMIT;
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
        TxSynchronization ours = synchronization();
        if (ours == null) {
            throw new TransactionStateException(
                    "A transaction of another manager may be active on this thread, inside that of this data source, so"
                            + " a callback would follow the wrong one. Register it outside of the inner transaction, or"
                            + " give SpringTxContext the transaction manager of this data source.");
        }
        return ours.callbacks();
    }

    /** The synchronization of the transaction that bound the connection; null if the current ones are, or may be, those of another. */
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
     * Whether everything on the thread that takes part in a transaction belongs to ours: its connection, and the
     * session of JPA or Hibernate that the connection comes from.
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
