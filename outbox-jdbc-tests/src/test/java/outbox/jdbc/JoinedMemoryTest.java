package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter;
import outbox.OutboxWriter.Change;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.memory.MemoryEventStore;
import outbox.memory.MemoryFullException;
import outbox.testing.fault.FaultyDataSource;

import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Events in memory that take part in the transactions of a database. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JoinedMemoryTest {

    private final HikariDataSource pool = Databases.newPool(Databases.H2.url(), 4, true);
    private final ThreadLocalTxContext tx = new ThreadLocalTxContext();
    private final JdbcTransactionManager transactions = new JdbcTransactionManager(pool::getConnection, tx);
    private final MemoryEventStore store =
            MemoryEventStore.builder().joining(tx).maxEvents(3).build();
    private final OutboxWriter writer = new OutboxWriter(tx, store);

    @BeforeEach
    void createTable() throws SQLException {
        try (var connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE business (id INT PRIMARY KEY)");
        }
    }

    private static EventEnvelope keyed(String key) {
        return EventEnvelope.builder("T").dedupKey(key).payloadJson("{}").build();
    }

    @Test
    void an_event_counts_once_its_transaction_has_committed_and_not_before() {
        try (Transaction business = transactions.begin()) {
            writer.write("T", "{}");
            writer.gathering().write("T", "{}");
            assertThat(store.pending()).isZero();
            business.commit();
        }
        assertThat(store.pending()).isEqualTo(2);
    }

    @Test
    void an_event_of_a_transaction_that_was_rolled_back_is_dropped_and_its_room_and_key_are_free() {
        for (int i = 0; i < 5; i++) {
            try (Transaction business = transactions.begin()) {
                writer.write(keyed("k"));
                writer.gathering().write("T", "{}");
                business.rollback();
            }
        }
        try (Transaction business = transactions.begin()) {
            EventEnvelope event = keyed("k");
            assertThat(writer.write(event)).isEqualTo(event.eventId());
            business.commit();
        }
        assertThat(store.pending()).isEqualTo(1);
    }

    @Test
    void a_commit_that_the_database_refuses_drops_the_events() {
        try (Transaction business = transactions.begin()) {
            tx.beforeCommit(() -> {
                throw new IllegalStateException("refused");
            });
            writer.gathering().write("T", "{}");
            writer.write("T", "{}");
            assertThatThrownBy(business::commit).hasMessage("refused");
        }
        assertThat(store.pending()).isZero();
    }

    @Test
    void a_commit_whose_answer_is_lost_drops_the_events_and_their_room_and_key_are_free_at_once() {
        FaultyDataSource faulty = new FaultyDataSource(pool);
        faulty.failAfter(1, FaultyDataSource.Call.to("commit"), "08006");
        EventEnvelope event = keyed("k");
        try (Transaction business = new JdbcTransactionManager(faulty::getConnection, tx).begin()) {
            writer.write(event);
            assertThatThrownBy(business::commit).isInstanceOf(CommitOutcomeUnknownException.class);
        }
        assertThat(store.pending()).isZero();

        try (Transaction again = transactions.begin()) {
            assertThat(writer.write(event)).isEqualTo(event.eventId());
            again.commit();
        }
        assertThat(store.pending()).isEqualTo(1);
    }

    @Test
    void what_was_written_after_a_savepoint_goes_with_it_and_can_be_written_again() throws SQLException {
        try (Transaction business = transactions.begin()) {
            writer.write("T", "{}");
            for (int i = 0; i < 5; i++) {
                Savepoint before = business.connection().setSavepoint();
                writer.write(keyed("k"));
                writer.write("T", "{}");
                business.connection().rollback(before);
            }
            EventEnvelope again = keyed("k");
            assertThat(writer.write(again)).isEqualTo(again.eventId());
            business.commit();
        }
        assertThat(store.pending()).isEqualTo(2);
    }

    @Test
    void a_savepoint_that_all_changes_went_with_leaves_nothing_behind() throws SQLException {
        String id;
        try (Transaction business = transactions.begin()) {
            id = writer.write(keyed("k"));
            business.commit();
        }
        try (Transaction business = transactions.begin()) {
            Savepoint before = business.connection().setSavepoint();
            assertThat(writer.cancel(EventRef.key("k"))).isEqualTo(Change.MADE);
            business.connection().rollback(before);
            business.commit();
        }
        try (Transaction business = transactions.begin()) {
            assertThat(writer.write(keyed("k"))).isEqualTo(id);
            assertThat(writer.cancel(EventRef.id(id))).isEqualTo(Change.MADE);
            business.commit();
        }
        assertThat(store.pending()).isZero();
    }

    @Test
    void a_full_store_is_told_in_the_transaction_which_may_go_on() {
        try (Transaction business = transactions.begin()) {
            for (int i = 0; i < 3; i++) {
                writer.write("T", "{}");
            }
            assertThatThrownBy(() -> writer.write("T", "{}")).isInstanceOf(MemoryFullException.class);
            business.commit();
        }
        assertThat(store.pending()).isEqualTo(3);
    }

    @Test
    void a_transaction_inside_another_ends_by_itself() {
        try (Transaction outer = transactions.begin()) {
            writer.write("T", "{}");
            try (Transaction inner = transactions.begin()) {
                writer.write("T", "{}");
                inner.commit();
            }
            assertThat(store.pending()).isEqualTo(1);
            outer.rollback();
        }
        assertThat(store.pending()).isEqualTo(1);
    }
}
