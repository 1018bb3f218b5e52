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

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Inserts of ids that the library generated, and commits that PostgreSQL rejects, in every mode of the driver. */
class PostgresInsertTest {

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
        OutboxSchema.create(pool, new PostgresEventStore(), Capability.ORDER);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders (id INT, CONSTRAINT one UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)");
        }
    }

    private void open(String parameters) {
        pool = Databases.newPool(url + (url.contains("?") ? "&" : "?") + parameters, 2, true);
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), context);
        writer = new OutboxWriter(context, new PostgresEventStore(), event -> told.add(event.eventType()));
    }

    @AfterEach
    void no_transaction_and_no_connection_is_left() {
        assertThat(context.isTransactionActive()).isFalse();
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        pool.close();
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
    void events_are_stored_in_the_order_of_their_writes(String parameters) throws SQLException {
        pool.close();
        open(parameters);
        // from the fifth execution on, the driver uses a server-side prepared statement
        for (int i = 0; i < 7; i++) {
            try (Transaction tx = transactions.begin()) {
                order(tx.connection(), i);
                writer.write("T" + i, "{}");
                tx.commit();
            }
        }

        assertThat(stored()).containsExactly("T0", "T1", "T2", "T3", "T4", "T5", "T6");
        assertThat(told).containsExactly("T0", "T1", "T2", "T3", "T4", "T5", "T6");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "autosave=always", "preferQueryMode=simple", "prepareThreshold=1"})
    void a_commit_that_is_refused_rolls_the_event_back(String parameters) throws SQLException {
        pool.close();
        open(parameters);
        for (int i = 0; i < 2; i++) {
            try (Transaction tx = transactions.begin()) {
                order(tx.connection(), 1); // the commit checks the constraint
                writer.write("A", "{}");
                if (i == 0) {
                    tx.commit();
                } else {
                    assertThatThrownBy(tx::commit)
                            .isInstanceOf(EventStoreException.class)
                            .isNotInstanceOf(CommitOutcomeUnknownException.class)
                            .hasMessageContainingAll("rolled back", "one");
                }
            }
        }

        assertThat(told).containsExactly("A");
        assertThat(stored()).containsExactly("A");
    }

    @Test
    void an_id_that_was_given_and_exists_leaves_the_transaction_usable() throws SQLException {
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
    void the_second_insert_of_an_id_that_the_library_made_leaves_the_transaction_usable_too() throws SQLException {
        EventEnvelope made = EventEnvelope.ofJson("A", "{}");
        for (int i = 0; i < 2; i++) { // the first transaction does not commit
            try (Transaction tx = transactions.begin()) {
                writer.write(made);
                if (i == 1) {
                    tx.commit();
                }
            }
        }
        try (Transaction tx = transactions.begin()) {
            assertThatThrownBy(() -> writer.write(made)).isInstanceOf(DuplicateEventException.class);
            writer.write("B", "{}");
            tx.commit();
        }

        assertThat(stored()).containsExactly("A", "B");
    }

    private static void order(Connection connection, int id) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO orders VALUES (?)")) {
            insert.setInt(1, id);
            insert.executeUpdate();
        }
    }

    private List<String> stored() throws SQLException {
        List<String> types = new ArrayList<>();
        try (Connection connection = pool.getConnection();
                Statement select = connection.createStatement();
                ResultSet rows = select.executeQuery("SELECT event_type FROM outbox_event ORDER BY seq")) {
            while (rows.next()) {
                types.add(rows.getString(1));
            }
        }
        return types;
    }
}
