package outbox.spring;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.awaitility.Awaitility.await;

class SpringTxContextTest {

    private SpringRig rig = new SpringRig();
    private final List<String> ran = new ArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void the_connection_is_the_one_of_the_business_operations() {
        rig.tx.executeWithoutResult(status -> {
            assertThat(rig.context.isTransactionActive()).isTrue();
            assertThat(rig.context.isReadOnly()).isFalse();
            assertThat(rig.context.currentConnection()).isSameAs(DataSourceUtils.getConnection(rig.pool));
        });
    }

    @Test
    void a_write_takes_no_connection_of_its_own() {
        rig.tx.executeWithoutResult(status -> {
            for (int i = 0; i < 10; i++) {
                rig.write("event");
            }
            assertThat(rig.pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(1);
        });

        assertThat(rig.pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }

    @Test
    void a_commit_runs_its_callbacks_and_not_those_of_a_rollback() {
        rig.tx.executeWithoutResult(status -> {
            rig.context.afterCommit(() -> ran.add("commit 1"));
            rig.context.afterRollback(() -> ran.add("rollback"));
            rig.context.afterCommit(() -> ran.add("commit 2"));
        });

        assertThat(ran).containsExactly("commit 1", "commit 2");
    }

    @Test
    void a_rollback_runs_its_callbacks_and_not_those_of_a_commit() {
        rig.tx.executeWithoutResult(status -> {
            rig.context.afterCommit(() -> ran.add("commit"));
            rig.context.afterRollback(() -> ran.add("rollback"));
            status.setRollbackOnly();
        });

        assertThat(ran).containsExactly("rollback");
    }

    @Test
    void an_outcome_that_nobody_knows_runs_neither_kind() {
        rig.tx.executeWithoutResult(status -> {
            rig.context.afterCommit(() -> ran.add("commit"));
            rig.context.afterRollback(() -> ran.add("rollback"));
            rig.context.whenUnknown(() -> ran.add("unknown"));
            TransactionSynchronization ours = ours();
            ours.beforeCompletion();
            ours.afterCompletion(TransactionSynchronization.STATUS_UNKNOWN);

            assertThat(ran).containsExactly("unknown");
        });
    }

    @Test
    void another_synchronization_that_fails_does_not_keep_the_callbacks_from_running() {
        try {
            rig.tx.executeWithoutResult(status -> {
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCommit() {
                        throw new IllegalStateException("of a neighbour");
                    }
                });
                rig.write("event");
            });
        } catch (IllegalStateException e) {
            ran.add(String.valueOf(e.getMessage()));
        }

        assertThat(ran).containsExactly("of a neighbour");
        assertThat(rig.stored()).containsExactly("event");
        assertThat(rig.told).containsExactly("event");
    }

    @Test
    void what_a_hook_throws_does_not_reach_the_caller() {
        OutboxWriter throwing = new OutboxWriter(rig.context, rig.store, event -> {
            ran.add(event.eventType());
            if (event.eventType().equals("error")) {
                throw new StackOverflowError();
            }
            throw new IllegalStateException("broken");
        });

        rig.tx.executeWithoutResult(status -> {
            throwing.write("exception", "{}");
            throwing.write("error", "{}");
            throwing.write("another", "{}");
        });

        assertThat(ran).containsExactly("exception", "error", "another");
        assertThat(rig.stored()).containsExactly("exception", "error", "another");
    }

    @Test
    void the_events_of_many_threads_do_not_mix() {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            boolean rollsBack = i % 2 == 0;
            threads.add(new Thread(() -> {
                for (int n = 0; n < 20; n++) {
                    rig.tx.executeWithoutResult(status -> {
                        rig.write(rollsBack ? "lost" : "kept");
                        if (rollsBack) {
                            status.setRollbackOnly();
                        }
                    });
                }
            }));
        }

        threads.forEach(Thread::start);
        threads.forEach(SpringTxContextTest::join);

        assertThat(rig.stored()).hasSize(80).containsOnly("kept");
        assertThat(rig.told).hasSize(80).containsOnly("kept");
    }

    // ---- data sources ----

    @Test
    void a_transaction_aware_proxy_is_looked_through() {
        DataSource proxy = new TransactionAwareDataSourceProxy(rig.pool);
        SpringTxContext context = new SpringTxContext(proxy);
        OutboxWriter writer = new OutboxWriter(context, rig.store, event -> rig.told.add(event.eventType()));

        rig.tx.executeWithoutResult(status -> writer.write("event", "{}"));
        new TransactionTemplate(new DataSourceTransactionManager(proxy)).executeWithoutResult(status -> {
            writer.write("lost", "{}");
            status.setRollbackOnly();
        });

        assertThat(rig.stored()).containsExactly("event");
        assertThat(rig.told).containsExactly("event");
    }

    @Test
    void the_newer_transaction_manager_of_spring_works_too() {
        new TransactionTemplate(new JdbcTransactionManager(rig.pool))
                .executeWithoutResult(status -> rig.write("event"));

        assertThat(rig.told).containsExactly("event");
    }

    @Test
    void two_contexts_of_one_data_source_share_its_transaction() {
        SpringTxContext second = new SpringTxContext(rig.pool);

        rig.tx.executeWithoutResult(status -> {
            rig.context.afterCommit(() -> ran.add("one"));
            second.afterCommit(() -> ran.add("two"));
        });

        assertThat(ran).containsExactly("one", "two");
    }

    @Test
    @SuppressWarnings("NullAway") // the test needs it
    void a_data_source_is_required() {
        assertThatNullPointerException().isThrownBy(() -> new SpringTxContext(null));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_pool_with_auto_commit_off_works_on_both_paths(boolean hot) {
        rig.close();
        rig = new SpringRig(config -> config.setAutoCommit(false));

        assertDelivered(hot, 20);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_pool_of_one_connection_does_not_deadlock(boolean hot) {
        rig.close();
        rig = new SpringRig(config -> config.setMaximumPoolSize(1));

        assertDelivered(hot, 20);
    }

    private void assertDelivered(boolean hot, int count) {
        List<String> delivered = new CopyOnWriteArrayList<>();
        DefaultListenerRegistry registry = new DefaultListenerRegistry()
                .register("kept", event -> delivered.add(event.eventId()))
                .register("lost", event -> delivered.add("phantom"));
        DataSourceConnectionProvider connections = new DataSourceConnectionProvider(rig.pool);
        List<String> written = new ArrayList<>();
        try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(connections)
                        .eventStore(rig.store)
                        .listenerRegistry(registry)
                        .build();
                OutboxPoller poller = OutboxPoller.builder()
                        .connectionProvider(connections)
                        .eventStore(rig.store)
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .intervalMs(20)
                        .build()) {
            OutboxWriter writer =
                    new OutboxWriter(rig.context, rig.store, hot ? new DispatcherCommitHook(dispatcher) : null);
            for (int i = 0; i < count; i++) {
                rig.tx.executeWithoutResult(status -> written.add(writer.write(EventEnvelope.ofJson("kept", "{}"))));
                rig.tx.executeWithoutResult(status -> {
                    writer.write("lost", "{}");
                    status.setRollbackOnly();
                });
            }
            if (!hot) {
                poller.start();
            }
            await().pollInterval(Duration.ofMillis(10))
                    .atMost(Duration.ofSeconds(10))
                    .untilAsserted(() -> assertThat(delivered).containsExactlyInAnyOrderElementsOf(written));
        }
        Integer open = rig.tx.execute(status -> new JdbcTemplate(rig.pool)
                .queryForObject("SELECT COUNT(*) FROM outbox_event WHERE status <> 1", Integer.class));
        assertThat(open).isZero();
        assertThat(delivered).hasSize(count);
    }

    private static TransactionSynchronization ours() {
        return TransactionSynchronizationManager.getSynchronizations().stream()
                .filter(TxSynchronization.class::isInstance)
                .findFirst()
                .orElseThrow();
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void what_a_nested_transaction_did_is_told_when_it_is_undone() {
        TransactionTemplate nested = new TransactionTemplate(rig.manager);
        nested.setPropagationBehavior(TransactionTemplate.PROPAGATION_NESTED);

        rig.tx.executeWithoutResult(status -> {
            rig.context.whenUndone(() -> ran.add("outer"));
            nested.executeWithoutResult(inner -> {
                rig.context.whenUndone(() -> ran.add("inner"));
                inner.setRollbackOnly();
            });
            assertThat(ran).containsExactly("inner");
        });
        assertThat(ran).containsExactly("inner");

        rig.tx.executeWithoutResult(status -> {
            rig.context.whenUndone(() -> ran.add("whole"));
            status.setRollbackOnly();
        });
        assertThat(ran).containsExactly("inner", "whole");
    }
}
