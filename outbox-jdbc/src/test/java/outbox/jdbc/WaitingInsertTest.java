package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.jdbc.JdbcTransactionManager.Transaction;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** On PostgreSQL, the insert of an event waits for the next use of its transaction's connection, or travels with the commit; nobody inside the transaction can tell. */
class WaitingInsertTest {

    private final List<String> told = new ArrayList<>();
    private final ThreadLocalTxContext context = new ThreadLocalTxContext();
    private String url;
    private HikariDataSource pool;
    private JdbcTransactionManager transactions;
    private OutboxWriter writer;

    @BeforeEach
    void createTables() throws SQLException {
        url = Databases.POSTGRES.url();
        open("");
        OutboxSchema.create(pool, new PostgresEventStore(), Capability.ORDER, Capability.CONTROL);
        execute("CREATE TABLE orders (id INT, CONSTRAINT one UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)");
    }

    private void open(String parameters) {
        pool = Databases.newPool(url + (url.contains("?") ? "&" : "?") + parameters, 2, true);
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), context);
        PostgresEventStore store = new PostgresEventStore();
        writer = new OutboxWriter(context, store, event -> told.add(event.eventType()));
    }

    private static boolean waits(Transaction tx) {
        return Objects.requireNonNull(TxScope.of(tx.connection())).isWaiting();
    }

    @AfterEach
    void nothing_is_left_behind() {
        assertThat(context.isTransactionActive()).isFalse();
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        pool.close();
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void order(Connection connection, int id) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO orders VALUES (?)")) {
            insert.setInt(1, id);
            insert.executeUpdate();
        }
    }

    private List<String> stored() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return stored(connection);
        }
    }

    private static List<String> stored(Connection connection) throws SQLException {
        try (Statement select = connection.createStatement()) {
            return stored(select);
        }
    }

    private static List<String> stored(Statement select) throws SQLException {
        List<String> types = new ArrayList<>();
        try (ResultSet rows = select.executeQuery("SELECT event_type FROM outbox_event ORDER BY seq")) {
            while (rows.next()) {
                types.add(rows.getString(1));
            }
        }
        return types;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "autosave=always",
                "preferQueryMode=simple",
                "prepareThreshold=1",
                "reWriteBatchedInserts=true"
            })
    void the_last_event_is_inserted_together_with_the_commit(String parameters) throws SQLException {
        pool.close();
        open(parameters);
        for (int i = 0; i < 7; i++) { // the driver prepares on the server from the fifth time on
            try (Transaction tx = transactions.begin()) {
                order(tx.connection(), i);
                writer.write("T" + i, "{}");
                assertThat(waits(tx)).isTrue();
                tx.commit();
            }
        }

        assertThat(stored()).containsExactly("T0", "T1", "T2", "T3", "T4", "T5", "T6");
        assertThat(told).containsExactly("T0", "T1", "T2", "T3", "T4", "T5", "T6");
    }

    @Test
    void several_events_keep_their_order() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            writer.write("A", "{}");
            writer.writeAll(List.of(EventEnvelope.ofJson("B", "{}"), EventEnvelope.ofJson("C", "{}")));
            assertThat(waits(tx)).isTrue();
            tx.commit();
        }

        assertThat(stored()).containsExactly("A", "B", "C");
    }

    @Test
    void whoever_looks_inside_the_transaction_sees_the_event() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            writer.write("A", "{}");
            assertThat(stored(tx.connection())).containsExactly("A");
            writer.write("B", "{}");
            assertThat(tx.connection().unwrap(Connection.class).isClosed()).isFalse();
            assertThat(stored(tx.connection())).containsExactly("A", "B");
            tx.commit();
        }
        assertThat(stored()).containsExactly("A", "B");
    }

    @Test
    void a_statement_that_was_open_before_sees_the_event_too() throws SQLException {
        try (Transaction tx = transactions.begin();
                Statement before = tx.connection().createStatement()) {
            writer.write("A", "{}");
            assertThat(waits(tx)).isFalse();
            assertThat(stored(before)).containsExactly("A");
            tx.commit();
        }
    }

    @Test
    void so_does_a_driver_that_was_unwrapped_before() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            Connection driver = tx.connection().unwrap(Connection.class);
            writer.write("A", "{}");
            assertThat(stored(driver)).containsExactly("A");
            tx.commit();
        }
    }

    @Test
    void many_open_statements_end_the_waiting() throws SQLException {
        List<Statement> open = new ArrayList<>();
        try (Transaction tx = transactions.begin()) {
            for (int i = 0; i < 40; i++) {
                open.add(tx.connection().createStatement());
            }
            writer.write("A", "{}");
            for (Statement statement : open) {
                assertThat(stored(statement)).containsExactly("A");
                statement.close();
            }
            tx.commit();
        }
    }

    @Test
    void a_rollback_to_a_savepoint_takes_back_what_was_written_after_it() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            writer.write("kept", "{}");
            Savepoint savepoint = tx.connection().setSavepoint();
            writer.write("taken back", "{}");
            tx.connection().rollback(savepoint);
            writer.write("after", "{}");
            tx.commit();
        }

        assertThat(stored()).containsExactly("kept", "after");
        assertThat(told).containsExactly("kept", "after");
    }

    @Test
    void a_rollback_to_a_savepoint_in_words_does_so_too() throws SQLException {
        try (Transaction tx = transactions.begin();
                Statement statement = tx.connection().createStatement()) {
            statement.execute("SAVEPOINT s");
            writer.write("taken back", "{}");
            statement.execute("ROLLBACK TO s");
            tx.commit();
        }

        assertThat(stored()).isEmpty();
    }

    @Test
    void a_rollback_leaves_nothing() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            order(tx.connection(), 1);
            writer.write("A", "{}");
            tx.rollback();
        }

        assertThat(stored()).isEmpty();
        assertThat(told).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "autosave=always", "preferQueryMode=simple", "prepareThreshold=1"})
    void an_insert_that_fails_with_the_commit_takes_the_business_change_with_it(String parameters) throws SQLException {
        pool.close();
        open(parameters);
        execute("ALTER TABLE outbox_event ADD CONSTRAINT no_b CHECK (event_type <> 'B')");

        try (Transaction tx = transactions.begin()) {
            order(tx.connection(), 1);
            writer.write("B", "{}");
            assertThatThrownBy(tx::commit)
                    .isInstanceOf(EventStoreException.class)
                    .isNotInstanceOf(CommitOutcomeUnknownException.class)
                    .hasMessageContainingAll("rolled back", "no_b");
        }

        assertThat(told).isEmpty();
        assertThat(stored()).isEmpty();
        assertThat(orders()).isZero();
    }

    @Test
    void an_insert_that_fails_later_fails_what_uses_the_connection_and_then_the_commit() throws SQLException {
        execute("ALTER TABLE outbox_event ADD CONSTRAINT no_b CHECK (event_type <> 'B')");

        try (Transaction tx = transactions.begin()) {
            writer.write("B", "{}");
            assertThatThrownBy(() -> order(tx.connection(), 1))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("no_b");
            assertThatThrownBy(tx::commit)
                    .isInstanceOf(EventStoreException.class)
                    .hasMessageContaining("A statement of this transaction failed");
        }
        assertThat(told).isEmpty();
    }

    @Test
    void a_failure_that_was_swallowed_fails_the_commit_though_the_driver_has_mended_the_transaction()
            throws SQLException {
        pool.close();
        open("autosave=always");
        execute("ALTER TABLE outbox_event ADD CONSTRAINT no_b CHECK (event_type <> 'B')");

        try (Transaction tx = transactions.begin()) {
            order(tx.connection(), 1);
            writer.write("B", "{}");
            assertThatThrownBy(() -> order(tx.connection(), 2)).isInstanceOf(SQLException.class);
            assertThatThrownBy(tx::commit)
                    .isInstanceOf(EventStoreException.class)
                    .hasMessageContainingAll("rolled back", "no_b");
        }

        assertThat(told).isEmpty();
        assertThat(orders()).isZero();
    }

    @Test
    void a_rollback_to_a_savepoint_that_is_no_more_takes_nothing_back() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            Savepoint released = tx.connection().setSavepoint();
            tx.connection().releaseSavepoint(released);
            writer.write("A", "{}");
            assertThatThrownBy(() -> tx.connection().rollback(released)).isInstanceOf(SQLException.class);
            tx.commit();
        }

        assertThat(stored()).containsExactly("A");
        assertThat(told).containsExactly("A");
    }

    @Test
    void a_transaction_that_has_written_cannot_become_read_only() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            writer.write("A", "{}");
            assertThatThrownBy(() -> tx.connection().setReadOnly(true)).isInstanceOf(SQLException.class);
            tx.commit();
        }
        assertThat(stored()).containsExactly("A");
    }

    @Test
    void nothing_waits_behind_a_connection_that_may_want_to_see_the_commit() throws SQLException {
        JdbcTransactionManager wrapped = new JdbcTransactionManager(
                () -> (Connection) Proxy.newProxyInstance(
                        getClass().getClassLoader(),
                        new Class<?>[] {Connection.class},
                        passingOn(pool.getConnection())),
                context);
        try (Transaction tx = wrapped.begin()) {
            writer.write("A", "{}");
            assertThat(waits(tx)).isFalse();
            tx.commit();
        }
        assertThat(stored()).containsExactly("A");
    }

    private static InvocationHandler passingOn(Connection connection) {
        return (proxy, method, args) -> {
            try {
                return method.invoke(connection, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
    }

    @Test
    void a_list_that_is_used_again_does_not_change_what_was_written() throws SQLException {
        try (Transaction tx = transactions.begin()) {
            List<EventEnvelope> buffer = new ArrayList<>(List.of(EventEnvelope.ofJson("A", "{}")));
            new PostgresEventStore().insertAll(tx.connection(), buffer, null);
            buffer.set(0, EventEnvelope.ofJson("B", "{}"));
            tx.commit();
        }
        assertThat(stored()).containsExactly("A");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "autosave=always", "preferQueryMode=simple", "prepareThreshold=1"})
    void a_commit_that_is_refused_takes_the_event_with_it(String parameters) throws SQLException {
        pool.close();
        open(parameters);
        execute("INSERT INTO orders VALUES (1)");

        try (Transaction tx = transactions.begin()) {
            order(tx.connection(), 1); // the constraint is looked at by the commit
            writer.write("A", "{}");
            assertThatThrownBy(tx::commit)
                    .isInstanceOf(EventStoreException.class)
                    .isNotInstanceOf(CommitOutcomeUnknownException.class)
                    .hasMessageContainingAll("rolled back", "one");
        }

        assertThat(told).isEmpty();
        assertThat(stored()).isEmpty();
    }

    @Test
    void an_id_that_was_given_is_looked_for_at_once() throws SQLException {
        EventEnvelope given =
                EventEnvelope.builder("A").eventId("given").payloadJson("{}").build();
        try (Transaction tx = transactions.begin()) {
            writer.write(given);
            assertThatThrownBy(() -> writer.write(given)).isInstanceOf(DuplicateEventException.class);
            tx.commit();
        }
        assertThat(stored()).containsExactly("A");
    }

    @Test
    void an_id_that_the_library_made_is_looked_for_from_the_second_time_on() throws SQLException {
        EventEnvelope made = EventEnvelope.ofJson("A", "{}");
        for (int i = 0; i < 2; i++) { // the first time, the transaction does not commit
            try (Transaction tx = transactions.begin()) {
                writer.write(made);
                if (i == 1) {
                    tx.commit();
                }
            }
        }
        try (Transaction tx = transactions.begin()) {
            assertThatThrownBy(() -> writer.write(made)).isInstanceOf(DuplicateEventException.class);
            order(tx.connection(), 1);
            tx.commit();
        }

        assertThat(stored()).containsExactly("A");
        assertThat(orders()).isOne();
    }

    private int orders() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement select = connection.createStatement();
                ResultSet rows = select.executeQuery("SELECT count(*) FROM orders")) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
