package outbox.benchmarks;

import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;

/** The business transactions of peers that join Spring's transactions. */
final class SpringTransactions {
    private final DataSource dataSource;
    private final TransactionTemplate transactions;

    SpringTransactions(DataSource dataSource) {
        this(dataSource, new DataSourceTransactionManager(dataSource));
    }

    SpringTransactions(DataSource dataSource, PlatformTransactionManager manager) {
        this.dataSource = dataSource;
        transactions = new TransactionTemplate(manager);
    }

    /** Writes an event of a peer in the transaction of the thread. */
    interface EventWrite {
        void write(Event event);
    }

    void write(Event event, EventWrite write) {
        transactions.executeWithoutResult(status -> {
            Connection connection = DataSourceUtils.getConnection(dataSource);
            try {
                Business.change(connection, event);
            } catch (SQLException e) {
                throw new IllegalStateException("The business change failed", e);
            } finally {
                DataSourceUtils.releaseConnection(connection, dataSource);
            }
            write.write(event);
        });
    }

    void writeBacklog(List<Event> events, EventWrite write) {
        transactions.executeWithoutResult(status -> events.forEach(write::write));
    }

    void run(Runnable work) {
        transactions.executeWithoutResult(status -> work.run());
    }
}
