package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.OutboxWriter.Change;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A business transaction at REPEATABLE READ, the default of MySQL and MariaDB, reads before it writes an event with
 * a key. The current state of the table decides who holds the key, not the snapshot of the transaction.
 */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class OldSnapshotTest {

    private final ThreadLocalTxContext context = new ThreadLocalTxContext();

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void a_key_that_was_set_free_since_can_be_taken(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope first = keyed();
        EventEnvelope second = keyed();
        db.insert(first);

        try (Transaction tx = begin(db)) {
            look(tx.connection());
            deliver(db, first);
            assertThat(writer.write(second)).isEqualTo(second.eventId());
            tx.commit();
        }

        assertThat(db.row(second.eventId()).status()).isEqualTo(EventStatus.NEW);
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void a_key_that_was_taken_since_is_taken(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope first = keyed();

        try (Transaction tx = begin(db)) {
            look(tx.connection());
            db.insert(first);
            assertThat(writer.write(keyed())).isEqualTo(first.eventId());
            tx.commit();
        }

        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void an_event_that_took_the_key_since_is_replaced(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope first = keyed();
        EventEnvelope second = keyed();
        EventEnvelope third = keyed();
        db.insert(first);

        try (Transaction tx = begin(db)) {
            look(tx.connection());
            deliver(db, first);
            db.insert(second);
            assertThat(writer.replace(third)).isEqualTo(Change.MADE);
            tx.commit();
        }

        assertThat(db.row(third.eventId()).status()).isEqualTo(EventStatus.NEW);
        assertThat(db.count("status = 0")).isEqualTo(1);
    }

    private static EventEnvelope keyed() {
        return EventEnvelope.builder("T").payloadJson("{}").dedupKey("k").build();
    }

    private Transaction begin(StoreFixture db) {
        return new JdbcTransactionManager(db.dataSource()::getConnection, context).begin();
    }

    private static void look(Connection connection) throws SQLException {
        assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_REPEATABLE_READ);
        try (Statement select = connection.createStatement();
                ResultSet row = select.executeQuery("SELECT COUNT(*) FROM outbox_event")) {
            assertThat(row.next()).isTrue();
        }
    }

    private static void deliver(StoreFixture db, EventEnvelope event) {
        Claim claim = new Claim("claim", Long.MAX_VALUE);
        db.inTransaction(connection -> {
            Instant now = db.store().now(connection);
            assertThat(db.store()
                            .claimOne(connection, claim, event.eventId(), now, now.minus(Duration.ofMinutes(5)), null))
                    .isPresent();
            assertThat(db.store().mark(connection, List.of(Mark.done(event.eventId(), claim.token())), now))
                    .containsExactly(event.eventId());
        });
    }
}
