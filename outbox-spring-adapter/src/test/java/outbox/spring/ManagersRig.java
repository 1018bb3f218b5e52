package outbox.spring;

import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.OutboxSchema;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.Claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * An outbox with a dispatcher and a poller, the transaction manager of its data source, and the manager of another
 * data source.
 */
final class ManagersRig implements AutoCloseable {

    final HikariDataSource pool;
    final HikariDataSource otherPool;
    final AbstractJdbcEventStore store;
    final AbstractPlatformTransactionManager manager;
    final AbstractPlatformTransactionManager other;
    final SpringTxContext context;
    final OutboxWriter writer;

    /**
     * The types of the events that the hot path was told to deliver without a check of the row. The types of events
     * without a lease end with a question mark.
     */
    final List<String> told = new CopyOnWriteArrayList<>();

    private final List<String> delivered = new CopyOnWriteArrayList<>();
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;

    ManagersRig(TestDatabase database, ManagerKind kind, ManagerKind otherKind, boolean managerIsGiven) {
        pool = database.pool();
        otherPool = TestDatabase.H2.pool();
        store = database.store();
        OutboxSchema.create(pool, store);
        manager = kind.manager(pool);
        manager.setNestedTransactionAllowed(true);
        other = otherKind.manager(otherPool);
        context = managerIsGiven ? new SpringTxContext(pool, manager) : new SpringTxContext(pool);
        DataSourceConnectionProvider connections = new DataSourceConnectionProvider(pool);
        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry(new DefaultListenerRegistry()
                        .register("one", event -> delivered.add(event.eventType()))
                        .register("two", event -> delivered.add(event.eventType()))
                        .register("three", event -> delivered.add(event.eventType())))
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
        writer = new OutboxWriter(context, store, new RecordingHook(new DispatcherCommitHook(dispatcher)));
    }

    void write(String eventType) {
        writer.write(eventType, "{}");
    }

    TransactionTemplate tx(int propagation) {
        return SpringRig.template(manager, propagation);
    }

    TransactionTemplate otherTx() {
        return new TransactionTemplate(other);
    }

    /** Sets a savepoint directly on the connection of the current transaction, so that Spring does not know it. */
    void underSavepoint(boolean rollsBack, Runnable work) {
        Connection connection = DataSourceUtils.getConnection(pool);
        try {
            Savepoint savepoint = connection.setSavepoint();
            work.run();
            if (rollsBack) {
                connection.rollback(savepoint);
            }
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Asserts that every stored event is delivered once, at the latest by the poller, and that no other
     * event is delivered.
     */
    void assertDelivered(List<String> expected) {
        assertThat(new JdbcTemplate(pool)
                        .queryForList("SELECT event_type FROM outbox_event ORDER BY event_id", String.class))
                .as("stored")
                .containsExactlyInAnyOrderElementsOf(expected);
        assertThat(new ArrayList<>(told)).as("told to the hot path").isSubsetOf(expected);
        await().pollInterval(Duration.ofMillis(5))
                .atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> {
                    poller.poll();
                    assertThat(delivered).as("delivered").containsExactlyInAnyOrderElementsOf(expected);
                    assertThat(new JdbcTemplate(pool)
                                    .queryForObject(
                                            "SELECT COUNT(*) FROM outbox_event WHERE status <> 1", Integer.class))
                            .isZero();
                });
    }

    /** Delivers waiting events, closes, and checks again. */
    void assertNothingIsLeft(List<String> expected) {
        close();
        assertThat(delivered).as("delivered").containsExactlyInAnyOrderElementsOf(expected);
    }

    /** Deletes all data, for the next test. */
    void clear() {
        new JdbcTemplate(pool).update("DELETE FROM outbox_event");
        told.clear();
        delivered.clear();
    }

    @Override
    public void close() {
        poller.close();
        dispatcher.close();
        pool.close();
        otherPool.close();
    }

    private final class RecordingHook implements AfterCommitHook {

        private final AfterCommitHook hook;

        RecordingHook(AfterCommitHook hook) {
            this.hook = hook;
        }

        @Override
        public @Nullable Claim birthClaim(int events, long bytes) {
            return hook.birthClaim(events, bytes);
        }

        @Override
        public void onCommit(EventEnvelope event) {
            onCommit(event, null);
        }

        @Override
        public void onCommit(EventEnvelope event, @Nullable Claim claim) {
            if (claim == null || claim.leaseEndNanos() - System.nanoTime() > 0) {
                told.add(claim == null ? event.eventType() + "?" : event.eventType());
            }
            hook.onCommit(event, claim);
        }
    }
}
