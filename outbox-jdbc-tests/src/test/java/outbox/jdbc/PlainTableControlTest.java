package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter.Change;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * The 15 columns of the specification. Features that need no other columns work, and all others are refused with a
 * message that names the missing columns.
 */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class PlainTableControlTest {

    private static StoreFixture fixture(Databases database) throws SQLException {
        List<String> ddl = database == Databases.POSTGRES
                ? SpecificationTable.POSTGRES_WITHOUT_ZONE
                : database == Databases.H2 ? SpecificationTable.CLOB_AND_TIMESTAMP : SpecificationTable.TEXT;
        return database.fixture(ddl, false);
    }

    private static AbstractJdbcEventStore store(StoreFixture db) {
        return (AbstractJdbcEventStore) db.store();
    }

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").payloadJson("{}");
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void an_event_is_delivered_when_it_is_due_and_can_be_cancelled_by_its_id(Databases database) throws SQLException {
        StoreFixture db = fixture(database);
        try (Node node =
                new Node(db.dataSource(), db.store(), dispatcher -> {}, poller -> poller.intervalMs(3_600_000))) {
            node.poller.start();
            EventEnvelope soon = node.write(
                    node.writer, event().deliverAfter(Duration.ofMillis(200)).build());
            EventEnvelope never = node.write(
                    node.writer, event().deliverAfter(Duration.ofHours(1)).build());

            try (Transaction tx = node.transactions.begin()) {
                assertThat(node.writer.cancel(EventRef.id(never.eventId()))).isEqualTo(Change.MADE);
                tx.commit();
            }

            await().until(() -> db.row(soon.eventId()).status() == EventStatus.DONE);
            assertThat(db.count("1 = 1")).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void what_needs_a_column_is_refused_by_its_name_until_it_is_there(Databases database) throws SQLException {
        StoreFixture db = fixture(database);
        AbstractJdbcEventStore store = store(db);
        EventEnvelope keyed = event().dedupKey("k").build();
        EventEnvelope urgent = event().priority(1).build();
        EventEnvelope late = event().expiresAt(db.now()).build();
        assertRefused(db, keyed, "dedup_key", Capability.KEYS);
        assertRefused(db, urgent, "priority", Capability.PRIORITY);
        assertRefused(db, late, "expires_at", Capability.DEADLINES);
        assertThatThrownBy(() -> db.call(connection -> store.find(connection, EventRef.key("k"), false)))
                .hasMessageContaining("dedup_key");
        assertThat(db.count("1 = 1")).isZero();

        OutboxSchema.create(db.dataSource(), database.store(), Capability.PRIORITY);

        db.insert(urgent); // by the same store that refused before
        assertThat(db.count("priority = 1")).isEqualTo(1);
        assertRefused(db, keyed, "dedup_key", Capability.KEYS);
        assertRefused(db, late, "expires_at", Capability.DEADLINES);

        OutboxSchema.create(db.dataSource(), database.store(), Capability.KEYS, Capability.DEADLINES);

        db.insert(List.of(keyed, late));
        assertThat(db.count("dedup_key = 'k'")).isEqualTo(1);
        assertThat(db.count("expires_at IS NOT NULL")).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void a_node_that_knew_the_table_without_deadlines_heeds_them_once_they_are_there(Databases database)
            throws SQLException {
        StoreFixture db = fixture(database);
        try (Node node = new Node(db.dataSource(), db.store())) {
            node.write(
                    node.coldWriter, event().deliverAfter(Duration.ofHours(1)).build());
            OutboxSchema.create(db.dataSource(), database.store(), Capability.DEADLINES);
            StoreFixture other = new StoreFixture(db.dataSource(), database.store(), db.table(), db.zonedTimes());
            EventEnvelope late = event().expiresAt(db.now().minusSeconds(1)).build();
            other.insert(late);

            node.poller.poll();

            await().until(() -> db.row(late.eventId()).status() == EventStatus.DEAD);
            assertThat(node.delivered).isEmpty();
        }
    }

    private static void assertRefused(StoreFixture db, EventEnvelope event, String column, Capability capability) {
        assertThatThrownBy(() -> db.insert(event))
                .isInstanceOf(EventStoreException.class)
                .hasMessageContainingAll(
                        column,
                        "Capability." + capability,
                        capability.resource(store(db).name()));
    }
}
