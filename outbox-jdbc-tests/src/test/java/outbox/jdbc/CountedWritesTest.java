package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.WriteInterceptor;

import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;

/** A writer counts exactly the events that its transaction committed, for every way to write them. */
class CountedWritesTest {

    /** Keeps the event types that are reported. */
    private static final class Enqueued extends Node.Counts {

        private final List<String> types = new ArrayList<>();

        @Override
        public void recordEnqueued(String eventType) {
            types.add(eventType);
        }
    }

    private final Enqueued enqueued = new Enqueued();
    private final ThreadLocalTxContext context = new ThreadLocalTxContext();
    private JdbcTransactionManager transactions;
    private OutboxWriter uncounted;
    private OutboxWriter writer;

    @BeforeEach
    void createTable() {
        H2EventStore store = new H2EventStore();
        DataSource pool = Databases.newPool(Databases.H2.url(), 4, true);
        OutboxSchema.create(pool, store, Capability.values());
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), context);
        uncounted = new OutboxWriter(context, store);
        writer = uncounted.countedBy(enqueued);
    }

    @Test
    void events_are_counted_when_their_transaction_commits() {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("a", "{}");
            writer.write("b", "{}");
            assertThat(enqueued.types).isEmpty();
            tx.commit();
        }

        assertThat(enqueued.types).containsExactly("a", "b");
    }

    @Test
    void what_is_rolled_back_is_not_counted_not_even_by_a_savepoint() throws SQLException {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("a", "{}");
            tx.rollback();
        }
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("b", "{}");
            Savepoint savepoint = tx.connection().setSavepoint();
            writer.write("c", "{}");
            tx.connection().rollback(savepoint);
            tx.commit();
        }

        assertThat(enqueued.types).containsExactly("b");
    }

    @Test
    void an_event_whose_key_is_taken_is_not_counted() {
        for (int i = 0; i < 2; i++) {
            try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
                writer.write(EventEnvelope.builder("a")
                        .dedupKey("key")
                        .payloadJson("{}")
                        .build());
                tx.commit();
            }
        }

        assertThat(enqueued.types).containsExactly("a");
    }

    @Test
    void a_gathering_writer_counts_what_it_gathered_itself() {
        OutboxWriter gathering = uncounted.gathering();
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            gathering.write("not counted", "{}");
            gathering.countedBy(enqueued).write("a", "{}");
            writer.gathering().write("b", "{}");
            tx.commit();
        }

        assertThat(enqueued.types).containsExactly("a", "b");
    }

    @Test
    void headers_of_interceptors_are_gathered_too() {
        List<EventEnvelope> told = new ArrayList<>();
        WriteInterceptor tracing = new WriteInterceptor() {
            @Override
            public Map<String, String> beforeWrite(EventEnvelope event) {
                return Map.of("traceparent", "t");
            }
        };
        OutboxWriter hot = new OutboxWriter(context, new H2EventStore(), told::add);
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            hot.gathering().interceptedBy(tracing).write("a", "{}");
            hot.interceptedBy(tracing).gathering().write("b", "{}");
            tx.commit();
        }

        assertThat(told)
                .hasSize(2)
                .allSatisfy(event -> assertThat(event.headers()).isEqualTo(Map.of("traceparent", "t")));
    }
}
