package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.purge.OutboxPurge;
import outbox.spi.Claim;
import outbox.spi.EventControl.Pending;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Tests which rows are deleted from the key table, by the purge and after a rejected write. */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class KeyPurgeTest {

    private static final Duration LEASE = Duration.ofMinutes(5);

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB", "MYSQL"})
    void keys_go_when_their_event_is_gone_or_was_delivered_long_ago(Databases database) {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Instant longAgo = db.now().minus(Duration.ofDays(2));
        db.insert(List.of(
                keyed("pending"),
                keyed("done"),
                keyed("done just now"),
                EventEnvelope.builder("T")
                        .payloadJson("{}")
                        .dedupKey("kept")
                        .dedupFor(Duration.ofDays(9))
                        .build(),
                keyed("dead"),
                keyed("gone")));
        finish(db, "done", EventStatus.DONE, longAgo);
        finish(db, "done just now", EventStatus.DONE, db.now());
        finish(db, "kept", EventStatus.DONE, longAgo);
        finish(db, "dead", EventStatus.DEAD, longAgo);
        db.inTransaction(
                connection -> store.delete(connection, List.of(last(db, "gone").eventId())));

        Instant before = db.now().minus(Duration.ofDays(1));
        Optional<String> first = db.call(connection -> store.purgeKeys(connection, before, "", 1));
        assertThat(keys(db)).hasSize(5).doesNotContain(first.orElseThrow());
        assertThat(db.<Optional<String>>call(
                        connection -> store.purgeKeys(connection, before, first.orElseThrow(), 10)))
                .isEmpty();

        assertThat(keys(db)).containsExactly("dead", "done just now", "kept", "pending");
    }

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB", "MYSQL"})
    void the_purge_deletes_keys_and_then_their_events(Databases database) {
        StoreFixture db = database.fixture();
        db.insert(List.of(keyed("done"), keyed("pending")));
        finish(db, "done", EventStatus.DONE, db.now().minus(Duration.ofDays(2)));

        try (OutboxPurge purge = OutboxPurge.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(db.store())
                .retention(Duration.ofDays(1))
                .build()) {
            purge.purge();
        }

        assertThat(keys(db)).containsExactly("pending");
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRES", "MARIADB", "MYSQL"})
    void a_key_that_a_writer_is_taking_is_left_alone(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        db.insert(keyed("k"));
        db.inTransaction(
                connection -> store.delete(connection, List.of(last(db, "k").eventId())));
        EventEnvelope next = keyed("k");

        try (Connection writer = db.open()) {
            assertThat(store.insertUnlessTaken(writer, List.of(next), null)).isEmpty();
            db.inTransaction(connection -> store.purgeKeys(connection, store.now(connection), "", 10));
            writer.commit();
        }

        db.inTransaction(connection -> store.purgeKeys(connection, store.now(connection), "", 10));
        EventEnvelope late = keyed("k");
        Map<String, String> leftOut = db.call(connection -> store.insertUnlessTaken(connection, List.of(late), null));
        assertThat(leftOut).containsOnly(Map.entry(late.eventId(), next.eventId()));
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRES", "MARIADB", "MYSQL"})
    void a_key_that_is_locked_does_not_end_the_purge(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        List<EventEnvelope> events = IntStream.range(0, 450)
                .mapToObj(i -> keyed("k" + i))
                .sorted(Comparator.comparing(event -> store.keys().placeOf(String.valueOf(event.dedupKey()))))
                .toList();
        String locked = String.valueOf(events.get(0).dedupKey());
        db.insert(events);
        db.inTransaction(connection -> store.delete(
                connection, events.stream().map(EventEnvelope::eventId).toList()));

        try (Connection writer = db.open();
                OutboxPurge purge = OutboxPurge.builder()
                        .connectionProvider(db.dataSource()::getConnection)
                        .eventStore(store)
                        .retention(Duration.ofDays(1))
                        .build()) {
            assertThat(store.insertUnlessTaken(writer, List.of(keyed(locked)), null))
                    .isEmpty();
            purge.purge();
            writer.rollback();
        }

        assertThat(keys(db)).contains(locked).allMatch(key -> key.equals(locked) || sharesSlot(database, key, locked));
    }

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB", "MYSQL"})
    void a_write_that_is_refused_leaves_the_key_to_the_dead_event(Databases database) {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        List<String> inOrder = Stream.of("a", "b")
                .sorted(Comparator.comparing(store.keys()::placeOf))
                .toList();
        EventEnvelope dead = keyed(inOrder.get(0));
        db.insert(List.of(dead, keyed(inOrder.get(1))));
        finish(db, inOrder.get(0), EventStatus.DEAD, db.now());

        db.inTransaction(connection -> assertThatThrownBy(
                        () -> store.insertAll(connection, List.of(keyed(inOrder.get(0)), keyed(inOrder.get(1))), null))
                .isInstanceOf(DuplicateKeyException.class));

        assertThat(last(db, inOrder.get(0)).eventId()).isEqualTo(dead.eventId());
    }

    private static boolean sharesSlot(Databases database, String one, String other) {
        KeyStatements keys = database.store().keys();
        return database != Databases.POSTGRES && keys.placeOf(one) == keys.placeOf(other);
    }

    private static EventEnvelope keyed(String key) {
        return EventEnvelope.builder("T").payloadJson("{}").dedupKey(key).build();
    }

    private static Pending last(StoreFixture db, String key) {
        return db.call(connection ->
                ((AbstractJdbcEventStore) db.store()).findLast(connection, key).orElseThrow());
    }

    private static void finish(StoreFixture db, String key, EventStatus status, Instant at) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        String id = last(db, key).eventId();
        Claim claim = new Claim("claim " + key, Long.MAX_VALUE);
        db.inTransaction(connection -> {
            Instant now = store.now(connection);
            assertThat(store.claimOne(connection, claim, id, now, now.minus(LEASE), null))
                    .isPresent();
            Mark mark = status == EventStatus.DONE
                    ? Mark.done(id, claim.token())
                    : Mark.dead(id, claim.token(), true, "failed");
            assertThat(store.mark(connection, List.of(mark), at)).containsExactly(id);
        });
    }

    private static List<String> keys(StoreFixture db) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        return db.call(connection -> store.query(
                connection,
                "SELECT dedup_key FROM outbox_key WHERE dedup_key <> '' ORDER BY dedup_key",
                binder -> {},
                row -> row.getString(1)));
    }
}
