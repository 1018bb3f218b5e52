package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.InvalidEventException;
import outbox.OutboxWriter;
import outbox.spi.Claim;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** A writer that inserts the events of a transaction together, just before it commits. */
class GatheringWriterTest {

    private final List<String> told = new ArrayList<>();
    private final List<Integer> inserts = new ArrayList<>(); // events per insert
    private final ThreadLocalTxContext context = new ThreadLocalTxContext();
    private HikariDataSource pool;
    private JdbcTransactionManager transactions;
    private OutboxWriter writer;

    @BeforeEach
    void createTable() {
        H2EventStore store = new H2EventStore();
        pool = Databases.newPool(Databases.H2.url(), 4, true);
        OutboxSchema.create(pool, store);
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), context);
        writer = writer(context, store).gathering();
    }

    private OutboxWriter writer(TxContext txContext, LeasingEventStore store) {
        return new OutboxWriter(txContext, counting(store), event -> told.add(event.eventType()));
    }

    private LeasingEventStore counting(LeasingEventStore store) {
        return new ForwardingEventStore(store) {
            @Override
            public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
                inserts.add(events.size());
                return super.insertAll(conn, events, birth);
            }
        };
    }

    @AfterEach
    void closePool() {
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        pool.close();
    }

    private List<String> stored() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return stored(connection);
        }
    }

    private static List<String> stored(Connection connection) throws SQLException {
        List<String> types = new ArrayList<>();
        try (Statement select = connection.createStatement();
                ResultSet rows = select.executeQuery("SELECT event_type FROM outbox_event ORDER BY event_id")) {
            while (rows.next()) {
                types.add(rows.getString(1));
            }
        }
        return types;
    }

    @Test
    void several_writes_are_one_insert_before_the_commit() throws SQLException {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("first", "{}");
            writer.writeAll(List.of(EventEnvelope.ofJson("second", "{}"), EventEnvelope.ofJson("third", "{}")));
            assertThat(inserts).isEmpty();
            assertThat(stored(tx.connection())).isEmpty();
            tx.commit();
        }

        assertThat(inserts).containsExactly(3);
        assertThat(stored()).containsExactly("first", "second", "third");
        assertThat(told).containsExactly("first", "second", "third");
    }

    @Test
    void each_transaction_gathers_for_itself() throws SQLException {
        try (JdbcTransactionManager.Transaction outer = transactions.begin()) {
            writer.write("outer one", "{}");
            try (JdbcTransactionManager.Transaction inner = transactions.begin()) {
                writer.write("inner", "{}");
                inner.commit();
            }
            assertThat(stored()).containsExactly("inner");
            writer.write("outer two", "{}");
            outer.commit();
        }

        assertThat(stored()).containsExactlyInAnyOrder("inner", "outer one", "outer two");
    }

    @Test
    void what_is_rolled_back_is_not_inserted_by_the_next_transaction() throws SQLException {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("lost", "{}");
            tx.rollback();
        }
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("kept", "{}");
            tx.commit();
        }

        assertThat(stored()).containsExactly("kept");
        assertThat(told).containsExactly("kept");
    }

    @Test
    void a_savepoint_takes_only_what_was_written_after_it() throws SQLException {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("before", "{}");
            Savepoint savepoint = tx.connection().setSavepoint();
            writer.write("inside", "{}");
            tx.connection().rollback(savepoint);
            writer.write("after", "{}");
            tx.commit();
        }

        assertThat(stored()).containsExactly("before", "after");
        assertThat(told).containsExactly("before", "after");
    }

    @Test
    void an_id_that_exists_fails_the_commit_and_nothing_is_told() throws SQLException {
        EventEnvelope event = EventEnvelope.ofJson("once", "{}");
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write(event);
            tx.commit();
        }
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("other", "{}");
            writer.write(event);
            assertThatThrownBy(tx::commit).isInstanceOf(DuplicateEventException.class);
        }

        assertThat(stored()).containsExactly("once");
        assertThat(told).containsExactly("once");
    }

    @Test
    void what_could_not_be_inserted_before_a_change_fails_the_commit_though_the_failure_was_swallowed()
            throws SQLException {
        OutboxWriter gathering =
                new OutboxWriter(context, new H2EventStore(), event -> told.add(event.eventType())).gathering();
        EventEnvelope event = EventEnvelope.ofJson("once", "{}");
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            gathering.write(event);
            tx.commit();
        }
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            gathering.write("other", "{}");
            gathering.write(event);
            assertThatThrownBy(() -> gathering.cancel(EventRef.id("none"))).isInstanceOf(DuplicateEventException.class);
            assertThatThrownBy(tx::commit).isInstanceOf(DuplicateEventException.class);
        }

        assertThat(stored()).containsExactly("once");
        assertThat(told).containsExactly("once");
    }

    @Test
    void an_id_that_was_written_before_in_the_transaction_is_refused_at_once() {
        EventEnvelope event = EventEnvelope.ofJson("twice", "{}");
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write(event);
            assertThatThrownBy(() -> writer.write(event))
                    .isInstanceOf(InvalidEventException.class)
                    .hasMessageContaining(event.eventId());
            tx.commit();
        }

        assertThat(told).containsExactly("twice");
    }

    @Test
    void what_is_written_by_a_callback_before_the_commit_is_inserted_too() throws SQLException {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("first", "{}");
            context.beforeCommit(() -> writer.write("late", "{}"));
            tx.commit();
        }

        assertThat(stored()).containsExactly("first", "late");
        assertThat(told).containsExactly("first", "late");
    }
}
