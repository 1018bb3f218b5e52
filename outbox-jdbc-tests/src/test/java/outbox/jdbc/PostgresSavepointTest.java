package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

/** The INSERT also returns whether a savepoint is set, so no further query is needed before the commit. */
class PostgresSavepointTest {

    private StoreFixture db;
    private PostgresEventStore store;

    @BeforeEach
    void create() {
        db = Databases.POSTGRES.fixture();
        store = new PostgresEventStore();
    }

    @ParameterizedTest
    @CsvSource({"1, false", "3, false", "100, false", "1, true", "3, true"})
    void without_a_savepoint_only_the_end_of_the_transaction_can_undo_an_insert(int count, boolean idsAreGiven)
            throws SQLException {
        try (Connection business = db.open()) {
            assertThat(store.insertAll(business, events(count, idsAreGiven), null))
                    .isTrue();
            business.commit();
        }

        assertThat(db.count("1 = 1")).isEqualTo(count);
    }

    @ParameterizedTest
    @CsvSource({"1, false", "3, false", "100, false", "1, true", "3, true"})
    void after_a_savepoint_an_insert_can_be_undone(int count, boolean idsAreGiven) throws SQLException {
        try (Connection business = db.open()) {
            business.setSavepoint();
            assertThat(store.insertAll(business, events(count, idsAreGiven), null))
                    .isFalse();
            business.commit();
        }

        assertThat(db.count("1 = 1")).isEqualTo(count);
    }

    @Test
    void a_savepoint_that_was_released_or_rolled_back_does_not_count() throws SQLException {
        try (Connection business = db.open()) {
            business.releaseSavepoint(business.setSavepoint());
            assertThat(store.insertAll(business, events(1, false), null)).isTrue();

            var savepoint = business.setSavepoint();
            assertThat(store.insertAll(business, events(1, false), null)).isFalse();
            business.rollback(savepoint);
            business.releaseSavepoint(savepoint);
            assertThat(store.insertAll(business, events(1, false), null)).isTrue();
            business.commit();
        }
    }

    @Test
    void an_event_that_was_undone_and_written_again_is_told_to_the_hook_once() throws SQLException {
        ThreadLocalTxContext context = new ThreadLocalTxContext();
        List<EventEnvelope> told = new ArrayList<>();
        OutboxWriter writer = new OutboxWriter(context, store, told::add);
        EventEnvelope event = EventEnvelope.ofJson("t", "{}");

        try (JdbcTransactionManager.Transaction tx =
                        new JdbcTransactionManager(db.dataSource()::getConnection, context).begin();
                Statement statement = tx.connection().createStatement()) {
            statement.execute("SAVEPOINT unseen");
            writer.write(event);
            statement.execute("ROLLBACK TO SAVEPOINT unseen");
            writer.write(event);
            tx.commit();
        }

        assertThat(told).containsExactly(event);
    }

    @Test
    void an_event_with_a_key_is_told_about_like_others() throws SQLException {
        try (Connection business = db.open()) {
            EventEnvelope keyed =
                    EventEnvelope.builder("t").dedupKey("k").payloadJson("{}").build();
            assertThat(store.insertAll(business, List.of(events(1, false).get(0), keyed), null))
                    .isTrue();
            business.commit();
        }
    }

    /** PostgreSQL returns the inserting transaction of a row only for a plain table. */
    @Test
    void a_partitioned_table_takes_events_and_does_not_tell() throws SQLException {
        try (Connection business = db.open();
                Statement statement = business.createStatement()) {
            statement.execute("CREATE TABLE parts (LIKE outbox_event INCLUDING DEFAULTS, PRIMARY KEY (event_id))"
                    + " PARTITION BY HASH (event_id)");
            statement.execute("CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
            business.commit();

            PostgresEventStore parts = new PostgresEventStore("parts");
            assertThat(parts.insertAll(business, events(2, false), null)).isFalse();
            business.commit();
        }
    }

    private static List<EventEnvelope> events(int count, boolean idsAreGiven) {
        return IntStream.range(0, count)
                .mapToObj(i -> {
                    EventEnvelope.Builder event = EventEnvelope.builder("t").payloadJson("{}");
                    return (idsAreGiven ? event.eventId("id-" + i) : event).build();
                })
                .toList();
    }
}
