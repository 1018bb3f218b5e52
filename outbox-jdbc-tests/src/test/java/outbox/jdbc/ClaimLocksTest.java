package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An uncommitted claim, for example of a node that is frozen, locks only the events that it takes and none that
 * others hold.
 */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class ClaimLocksTest {

    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final Claim OTHER = new Claim("other", Long.MAX_VALUE);
    private static final Claim CLAIM = new Claim("claim", Long.MAX_VALUE);

    static Stream<Arguments> ways() {
        return Stream.of(Databases.POSTGRES, Databases.MARIADB, Databases.MYSQL)
                .flatMap(database -> Stream.of(
                        Arguments.of(database, Ordering.off()), Arguments.of(database, Ordering.perAggregate())));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void an_open_claim_keeps_nobody_from_marking_what_is_not_claimed(Databases database, Ordering ordering)
            throws SQLException {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        List<String> held = written(db, 100);
        db.inTransaction(connection -> claim(store, connection, OTHER, 100, ordering));
        List<String> free = written(db, 100);

        try (Connection open = db.dataSource().getConnection()) {
            open.setAutoCommit(false);
            store.prepare(open);
            List<ClaimedEvent> claimed = claim(store, open, CLAIM, 50, ordering);

            assertThat(claimed)
                    .extracting(one -> one.event().eventId())
                    .hasSize(50)
                    .isSubsetOf(free);
            db.inTransaction(connection -> {
                limitWaits(connection, database);
                List<Mark> marks =
                        held.stream().map(id -> Mark.done(id, "other")).toList();
                assertThat(store.mark(connection, marks, Instant.now())).hasSize(100);
            });
            List<ClaimedEvent> next = db.call(connection -> {
                limitWaits(connection, database);
                return claim(store, connection, OTHER, 100, ordering);
            });
            assertThat(next).hasSize(50).doesNotContainAnyElementsOf(claimed);
            open.rollback();
        }
    }

    private static List<ClaimedEvent> claim(
            AbstractJdbcEventStore store, Connection connection, Claim claim, int limit, Ordering ordering) {
        Instant now = store.now(connection);
        return store.claim(
                connection, claim, ClaimRequest.of(now, now.minus(LEASE), limit).inOrder(ordering));
    }

    private static void limitWaits(Connection connection, Databases database) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    database == Databases.POSTGRES
                            ? "SET LOCAL lock_timeout = '2s'"
                            : "SET innodb_lock_wait_timeout = 2");
        }
    }

    /** Writes events, each with its own aggregate. */
    private static List<String> written(StoreFixture db, int count) {
        List<EventEnvelope> events = IntStream.range(0, count)
                .mapToObj(i -> EventEnvelope.builder("T")
                        .aggregateType("A")
                        .aggregateId(UUID.randomUUID().toString())
                        .payloadJson("{}")
                        .build())
                .toList();
        db.insert(events);
        return events.stream().map(EventEnvelope::eventId).toList();
    }
}
