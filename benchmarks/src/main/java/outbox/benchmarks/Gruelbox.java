package outbox.benchmarks;

import com.gruelbox.transactionoutbox.Dialect;
import com.gruelbox.transactionoutbox.Instantiator;
import com.gruelbox.transactionoutbox.Persistor;
import com.gruelbox.transactionoutbox.Submitter;
import com.gruelbox.transactionoutbox.TransactionManager;
import com.gruelbox.transactionoutbox.TransactionOutbox;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/** gruelbox transaction-outbox, with the flush loop of its documentation. */
final class Gruelbox implements Contender {
    private static final int THREADS = 10;
    private static final Duration FLUSH = Duration.ofSeconds(1);

    @Override
    public String name() {
        return "gruelbox";
    }

    @Override
    public String description() {
        return "transaction-outbox on plain JDBC: %d threads, unbounded queue, flush every %d s until nothing is left"
                .formatted(THREADS, FLUSH.toSeconds());
    }

    @Override
    public boolean isPeer() {
        return true;
    }

    @Override
    public void createSchema(Product product, DataSource dataSource) {
        Persistor.forDialect(dialect(product)).migrate(TransactionManager.fromDataSource(dataSource));
    }

    private static Dialect dialect(Product product) {
        return switch (product) {
            case POSTGRESQL -> Dialect.POSTGRESQL_9;
            case MARIADB -> Dialect.MY_SQL_8;
        };
    }

    @Override
    public String pendingSql() {
        return "SELECT count(*) FROM TXNO_OUTBOX";
    }

    /**
     * The product leaves an event to the submission after its commit for two minutes. A backlog must not
     * wait that long.
     */
    @Override
    public String makeDueSql(Product product) {
        return switch (product) {
            case POSTGRESQL -> "UPDATE TXNO_OUTBOX SET nextAttemptTime = nextAttemptTime - INTERVAL '1 day'";
            case MARIADB -> "UPDATE TXNO_OUTBOX SET nextAttemptTime = nextAttemptTime - INTERVAL 1 DAY";
        };
    }

    @Override
    public Node node(NodeSetup setup) {
        return new GruelboxNode(setup);
    }

    /** The interface that is called through the outbox. Public, because the outbox creates a proxy of it. */
    public interface Listener {
        void deliver(String payload);
    }

    private static final class GruelboxNode implements Node {
        private final TransactionManager transactions;
        private final TransactionOutbox outbox;
        private final GatedExecutor executor;
        private final ScheduledExecutorService flusher = Executors.newSingleThreadScheduledExecutor();

        GruelboxNode(NodeSetup setup) {
            executor = new GatedExecutor(setup.workers().orElse(THREADS));
            transactions = TransactionManager.fromDataSource(setup.dataSource());
            Listener listener = setup.ledger()::deliver;
            outbox = TransactionOutbox.builder()
                    .transactionManager(transactions)
                    .persistor(Persistor.forDialect(dialect(setup.product())))
                    .instantiator(Instantiator.using(type -> listener))
                    .submitter(Submitter.withExecutor(executor))
                    .build();
        }

        @Override
        public void write(Event event) throws SQLException {
            transactions.<SQLException>inTransactionThrows(transaction -> {
                Business.change(transaction.connection(), event);
                outbox.schedule(Listener.class).deliver(event.payload());
            });
        }

        @Override
        public void writeBacklog(List<Event> events) {
            transactions.inTransaction(() -> {
                for (Event event : events) {
                    outbox.schedule(Listener.class).deliver(event.payload());
                }
            });
        }

        @Override
        public void start() {
            executor.open();
            flusher.scheduleWithFixedDelay(this::flush, 0, FLUSH.toMillis(), TimeUnit.MILLISECONDS);
        }

        private void flush() {
            try {
                while (outbox.flush() && !flusher.isShutdown()) {
                    // repeat while it finds events
                }
            } catch (RuntimeException e) {
                System.err.println("A flush failed, the next one will try again: " + e);
            }
        }

        @Override
        public void close() {
            flusher.shutdownNow();
            executor.close();
        }
    }
}
