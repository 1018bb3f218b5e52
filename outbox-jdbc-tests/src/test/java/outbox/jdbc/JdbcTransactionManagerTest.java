package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.TransactionStateException;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class JdbcTransactionManagerTest {

    private final List<String> happened = new ArrayList<>();
    private final ThreadLocalTxContext context = new ThreadLocalTxContext();
    private HikariDataSource pool;
    private JdbcTransactionManager transactions;

    @BeforeEach
    void createPool() {
        pool = Databases.newPool(Databases.H2.url(), 2, true);
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), context);
    }

    @AfterEach
    void nothing_is_left_behind() {
        assertThat(context.isTransactionActive()).isFalse();
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        pool.close();
    }

    private JdbcTransactionManager.Transaction begun() {
        JdbcTransactionManager.Transaction tx = transactions.begin();
        context.beforeCommit(() -> happened.add("before"));
        context.afterCommit(() -> happened.add("committed"));
        context.afterRollback(() -> happened.add("rolled back"));
        return tx;
    }

    @Test
    void after_a_commit_only_its_callbacks_run_and_its_connection_is_free() {
        try (JdbcTransactionManager.Transaction tx = begun()) {
            context.afterCommit(
                    () -> happened.add("free: " + (pool.getHikariPoolMXBean().getActiveConnections() == 0)));
            tx.commit();
        }

        assertThat(happened).containsExactly("before", "committed", "free: true");
    }

    @Test
    void what_is_closed_without_a_commit_is_rolled_back() {
        try (JdbcTransactionManager.Transaction tx = begun()) {
            assertThat(tx.connection()).isNotNull();
        }

        assertThat(happened).containsExactly("rolled back");
    }

    @Test
    void a_transaction_ends_once() {
        JdbcTransactionManager.Transaction tx = begun();
        tx.rollback();

        assertThatThrownBy(tx::commit).isInstanceOf(TransactionStateException.class);
        assertThatThrownBy(tx::rollback).isInstanceOf(TransactionStateException.class);
        tx.close();
        assertThat(happened).containsExactly("rolled back");
    }

    @Test
    void a_callback_that_fails_harms_neither_the_others_nor_the_caller() {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            context.afterCommit(() -> {
                throw new AssertionError("an error");
            });
            context.afterCommit(() -> happened.add("the next"));
            tx.commit();
        }

        assertThat(happened).containsExactly("the next");
    }

    @Test
    void what_fails_before_the_commit_rolls_back() {
        try (JdbcTransactionManager.Transaction tx = begun()) {
            context.beforeCommit(() -> {
                throw new IllegalStateException("no");
            });
            assertThatThrownBy(tx::commit).isInstanceOf(IllegalStateException.class);
        }

        assertThat(happened).containsExactly("before", "rolled back");
    }

    @Test
    void a_transaction_belongs_to_the_thread_that_began_it() throws InterruptedException {
        try (JdbcTransactionManager.Transaction tx = begun()) {
            AtomicReference<Throwable> refused = new AtomicReference<>();
            Thread stranger = new Thread(() -> {
                try {
                    tx.commit();
                } catch (RuntimeException e) {
                    refused.set(e);
                }
            });
            stranger.start();
            stranger.join(10_000);

            assertThat(refused.get())
                    .isInstanceOf(TransactionStateException.class)
                    .hasMessageContaining("another thread");
        }
    }

    @Test
    void the_connection_does_not_let_business_code_end_the_transaction() throws SQLException {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            Connection connection = tx.connection();

            assertThatThrownBy(connection::commit)
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("Transaction");
            assertThatThrownBy(connection::rollback).isInstanceOf(SQLException.class);
            assertThatThrownBy(() -> connection.setAutoCommit(true)).isInstanceOf(SQLException.class);
            connection.close();
            assertThat(connection.isClosed()).isFalse();
            assertThat(connection).isEqualTo(context.currentConnection());
        }
    }

    @Test
    void outside_a_transaction_there_is_no_connection() {
        assertThatThrownBy(context::currentConnection).isInstanceOf(TransactionStateException.class);
        assertThatThrownBy(() -> context.afterCommit(() -> {})).isInstanceOf(TransactionStateException.class);
    }

    @Test
    void a_database_that_cannot_be_reached_begins_nothing() {
        JdbcTransactionManager unreachable = new JdbcTransactionManager(
                () -> {
                    throw new SQLException("down", "08001");
                },
                context);

        assertThatThrownBy(unreachable::begin)
                .isInstanceOfSatisfying(
                        EventStoreException.class, e -> assertThat(e.sqlState()).isEqualTo("08001"));
    }
}
