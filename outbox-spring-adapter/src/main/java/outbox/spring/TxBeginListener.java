package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.JdbcTransactionObjectSupport;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import javax.sql.DataSource;

/**
 * Registers our synchronization at the beginning of each transaction that binds a connection of the data
 * source. A later transaction of another manager on the same thread has its own synchronizations, so the two
 * cannot be confused.
 */
final class TxBeginListener implements TransactionExecutionListener {

    private final DataSource dataSource;

    TxBeginListener(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    @Override
    public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
        if (failure == null
                && transaction instanceof DefaultTransactionStatus status
                && status.isNewTransaction()
                && status.isNewSynchronization()
                && status.getTransaction() instanceof JdbcTransactionObjectSupport object
                && object.hasConnectionHolder()) {
            ConnectionHolder holder = object.getConnectionHolder();
            if (holder == TransactionSynchronizationManager.getResource(dataSource)
                    && TxSynchronization.of(holder) == null) {
                TxSynchronization.register(holder).setInTime();
            }
        }
    }
}
