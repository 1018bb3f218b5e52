package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.TransactionStateException;
import outbox.registry.DefaultListenerRegistry;

import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** The facade for plain JDBC, on every database. */
class JdbcOutboxTest {

    @Nested
    class OnH2 extends Contract {
        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends Contract {
        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends Contract {
        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends Contract {
        OnMySql() {
            super(Databases.MYSQL);
        }
    }

    @Timeout(60)
    abstract static class Contract {

        private final Databases database;
        private final BlockingQueue<String> delivered = new LinkedBlockingQueue<>();
        private final HikariDataSource pool = new HikariDataSource();

        Contract(Databases database) {
            this.database = database;
        }

        @BeforeEach
        void createOrders() throws SQLException {
            pool.setJdbcUrl(database.url());
            sql("CREATE TABLE orders (id INT)");
        }

        @AfterEach
        void closePool() {
            pool.close();
        }

        private JdbcOutbox.Builder outbox() {
            return JdbcOutbox.on(pool)
                    .createTables()
                    .listen("OrderPlaced", event -> delivered.add(event.payloadJson()));
        }

        @Test
        void an_event_of_a_transaction_is_stored_with_the_change_and_delivered() throws Exception {
            try (JdbcOutbox outbox = outbox().start()) {
                outbox.transaction(tx -> {
                    assertThat(tx.execute("INSERT INTO orders VALUES (?)", 7)).isEqualTo(1);
                    tx.write("OrderPlaced", "{\"id\":7}");
                });

                assertThat(delivered.poll(30, TimeUnit.SECONDS)).isEqualTo("{\"id\":7}");
            }
            assertThat(count("orders WHERE id = 7")).isEqualTo(1);
            assertThat(count("outbox_event WHERE status = 1")).isEqualTo(1);
        }

        @Test
        void work_that_fails_leaves_neither_change_nor_event_and_its_exception_is_passed_on() throws Exception {
            IOException failure = new IOException("the business code failed");
            try (JdbcOutbox outbox = outbox().start()) {
                assertThatThrownBy(() -> outbox.transaction(tx -> {
                            tx.execute("INSERT INTO orders VALUES (1)");
                            tx.write("OrderPlaced", "{\"id\":1}");
                            throw failure;
                        }))
                        .isSameAs(failure);
            }
            assertThat(delivered).isEmpty();
            assertThat(count("orders")).isZero();
            assertThat(count("outbox_event")).isZero();
        }

        @Test
        void a_transaction_that_was_begun_by_hand_decides_about_its_events() throws Exception {
            try (JdbcOutbox outbox = outbox().start()) {
                try (var rolledBack = outbox.begin()) {
                    outbox.writer().write("OrderPlaced", "{\"id\":4}");
                    rolledBack.rollback();
                }
                try (var committed = outbox.begin()) {
                    outbox.writer().write("OrderPlaced", "{\"id\":5}");
                    committed.commit();
                }

                assertThat(delivered.poll(30, TimeUnit.SECONDS)).isEqualTo("{\"id\":5}");
            }
            assertThat(count("outbox_event")).isEqualTo(1);
        }

        @Test
        void an_event_that_another_process_wrote_is_found() throws Exception {
            try (JdbcOutbox first = outbox().start()) {
                first.runtime().poller().close(); // it writes, but its hot path is full or closed
                first.runtime().dispatcher().close();
                first.transaction(tx -> tx.write("OrderPlaced", "{\"id\":2}"));
            }
            try (JdbcOutbox second =
                    outbox().poller(poller -> poller.intervalMs(50)).start()) {
                assertThat(second.writer()).isNotNull();
                assertThat(delivered.poll(30, TimeUnit.SECONDS)).isEqualTo("{\"id\":2}");
            }
        }

        @Test
        void a_missing_table_is_refused_by_name_with_the_remedy() {
            assertThatThrownBy(() -> JdbcOutbox.on(pool).start())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("no table outbox_event")
                    .hasMessageContaining("createTables()");
        }

        @Test
        void the_table_has_the_given_name() throws Exception {
            try (JdbcOutbox outbox = outbox().table("shop_outbox").start()) {
                outbox.transaction(tx -> tx.write("OrderPlaced", "{}"));
                assertThat(delivered.poll(30, TimeUnit.SECONDS)).isEqualTo("{}");
            }
            assertThat(count("shop_outbox")).isEqualTo(1);
        }

        @Test
        void delivered_events_are_purged_after_their_retention_unless_there_is_no_purge() throws Exception {
            try (JdbcOutbox kept = outbox().withoutPurge().start()) {
                assertThat(kept.runtime().purge()).isNull();
                kept.transaction(tx -> tx.write("OrderPlaced", "{}"));
                assertThat(delivered.poll(30, TimeUnit.SECONDS)).isEqualTo("{}");
            }
            assertThat(count("outbox_event WHERE status = 1")).isEqualTo(1);

            try (JdbcOutbox purging = outbox().purge(
                            purge -> purge.retention(Duration.ZERO).interval(Duration.ofMillis(20)))
                    .start()) {
                assertThat(purging.runtime().purge()).isNotNull();
                await().atMost(Duration.ofSeconds(30)).until(() -> count("outbox_event") == 0);
            }
        }

        @Test
        void settings_reach_the_dispatcher() throws Exception {
            try (JdbcOutbox outbox = JdbcOutbox.on(pool)
                    .createTables()
                    .listen("Order", "Broken", event -> {
                        delivered.add(event.eventId());
                        throw new IllegalStateException("refused");
                    })
                    .dispatcher(dispatcher -> dispatcher.maxAttempts(1))
                    .start()) {
                outbox.transaction(tx -> tx.write(EventEnvelope.builder("Broken")
                        .aggregateType("Order")
                        .aggregateId("1")
                        .payloadJson("{}")
                        .build()));
                assertThat(delivered.poll(30, TimeUnit.SECONDS)).isNotNull();
            }
            assertThat(count("outbox_event WHERE status = 3 AND attempts = 1")).isEqualTo(1);
        }

        @Test
        void an_outbox_that_joins_other_transactions_writes_in_them_and_begins_none() throws Exception {
            ThreadLocalTxContext theirs = new ThreadLocalTxContext();
            var transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), theirs);
            try (JdbcOutbox outbox = outbox().joining(theirs).start()) {
                try (var tx = transactions.begin()) {
                    outbox.writer().write("OrderPlaced", "{\"id\":3}");
                    tx.commit();
                }
                assertThat(delivered.poll(30, TimeUnit.SECONDS)).isEqualTo("{\"id\":3}");

                assertThatThrownBy(() -> outbox.transaction(tx -> {}))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining(ThreadLocalTxContext.class.getName());
            }
        }

        @Test
        void a_write_outside_a_transaction_is_refused() {
            try (JdbcOutbox outbox = outbox().start()) {
                assertThatThrownBy(() -> outbox.writer().write("OrderPlaced", "{}"))
                        .isInstanceOf(TransactionStateException.class);
            }
        }

        @Test
        void contradicting_settings_are_refused() {
            assertThatThrownBy(() ->
                            outbox().listeners(new DefaultListenerRegistry()).start())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("listen");
            assertThatThrownBy(() -> outbox().table("a").store(database.store()).start())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("outbox_event")
                    .hasMessageContaining("table(a)");
        }

        private void sql(String statement) throws SQLException {
            try (Connection connection = pool.getConnection();
                    Statement sql = connection.createStatement()) {
                sql.execute(statement);
            }
        }

        private int count(String from) throws SQLException {
            try (Connection connection = pool.getConnection();
                    Statement sql = connection.createStatement();
                    ResultSet rows = sql.executeQuery("SELECT COUNT(*) FROM " + from)) {
                assertThat(rows.next()).isTrue();
                return rows.getInt(1);
            }
        }
    }
}
