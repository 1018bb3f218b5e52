package outbox.jdbc;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;

/** Keys, priorities and deadlines, each in a table without the columns of the other two. */
@Timeout(60)
class SingleCapabilityTest {

    private static final Claim CLAIM = new Claim("claim", Long.MAX_VALUE);
    private static final List<String> COLUMNS = List.of("dedup_key", "dedup_ms", "priority", "expires_at");

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void keys(Databases database) {
        StoreFixture db = fixture(database, Capability.KEYS, "dedup_key", "dedup_ms");
        AbstractJdbcEventStore store = store(db);
        EventEnvelope first = event().dedupKey("k").build();
        db.insert(first);

        assertThat(write(db, event().dedupKey("k").build())).containsValue(first.eventId());
        assertThat(claim(db, 10)).containsExactly(first.eventId());
        db.inTransaction(connection ->
                store.mark(connection, List.of(Mark.done(first.eventId(), CLAIM.token())), store.now(connection)));
        EventEnvelope second = event().dedupKey("k").build();
        assertThat(write(db, second)).isEmpty();
        assertThat(db.<Boolean>call(connection -> store.cancel(
                        connection,
                        store.find(connection, EventRef.key("k"), true).orElseThrow())))
                .isTrue();
        assertThat(db.count("1 = 1")).isEqualTo(1);
        expire(db); // there are no deadlines
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void priorities(Databases database) {
        StoreFixture db = fixture(database, Capability.PRIORITY, "priority");
        for (int i = 0; i < 20; i++) {
            db.insert(event().build());
        }
        EventEnvelope urgent = event().priority(9).build();
        db.insert(List.of(urgent, event().build()));

        assertThat(claim(db, 4)).hasSize(4).contains(urgent.eventId());
        expire(db);
    }

    /** A running node reads the column list again about once a minute, when it searches for expired events. */
    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void priorities_that_came_while_a_node_runs_are_heeded(Databases database) {
        DataSource pool = Databases.newPool(database.url(), 4, true);
        OutboxSchema.create(pool, database.store(), Capability.DEADLINES);
        StoreFixture db = new StoreFixture(pool, database.store(), "outbox_event", database == Databases.POSTGRES);
        for (int i = 0; i < 20; i++) {
            db.insert(event().build());
        }
        OutboxSchema.create(pool, database.store(), Capability.PRIORITY);
        EventEnvelope urgent = event().priority(9).build();
        new StoreFixture(pool, database.store(), "outbox_event", database == Databases.POSTGRES).insert(urgent);

        expire(db);

        assertThat(claim(db, 4)).hasSize(4).contains(urgent.eventId());
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void deadlines(Databases database) {
        StoreFixture db = fixture(database, Capability.DEADLINES, "expires_at");
        EventEnvelope late = event().expiresAt(db.now().minusSeconds(1)).build();
        EventEnvelope early = event().expiresAt(db.now().plusSeconds(600)).build();
        db.insert(List.of(late, early, event().build()));

        expire(db);

        assertThat(db.row(late.eventId()).status()).isEqualTo(EventStatus.DEAD);
        assertThat(claim(db, 10)).hasSize(2).contains(early.eventId());
    }

    private static StoreFixture fixture(Databases database, Capability capability, String... columns) {
        DataSource pool =
                database.pool(capability.name(), empty -> OutboxSchema.create(empty, database.store(), capability));
        StoreFixture db = new StoreFixture(pool, database.store(), "outbox_event", database == Databases.POSTGRES);
        assertThat(OutboxSchema.missing(pool, store(db), capability)).isEmpty();
        assertThat(db.<List<String>>call(
                        connection -> store(db).shape(connection).missing(COLUMNS)))
                .containsExactlyElementsOf(COLUMNS.stream()
                        .filter(column -> !List.of(columns).contains(column))
                        .toList());
        return db;
    }

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").payloadJson("{}");
    }

    private static AbstractJdbcEventStore store(StoreFixture db) {
        return (AbstractJdbcEventStore) db.store();
    }

    private static Map<String, String> write(StoreFixture db, EventEnvelope event) {
        return db.call(connection -> store(db).insertUnlessTaken(connection, List.of(event), null));
    }

    private static List<String> claim(StoreFixture db, int limit) {
        Instant now = db.now();
        List<ClaimedEvent> claimed = db.call(
                connection -> store(db).claim(connection, CLAIM, ClaimRequest.of(now, now.minusSeconds(300), limit)));
        return claimed.stream().map(one -> one.event().eventId()).toList();
    }

    private static void expire(StoreFixture db) {
        Instant now = db.now();
        db.inTransaction(
                connection -> store(db).expire(connection, now, now.minusSeconds(300), "Expired: too late", 100));
    }
}
