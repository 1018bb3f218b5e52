package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.RetryLaterException;
import outbox.inbox.IdempotentListener;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Listeners that run once per key. They use an inbox in the database, and their effect is in the same transaction.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class IdempotentListenerTest {

    private final DataSource pool = Databases.newPool(Databases.H2.url(), 8, true);
    private final ThreadLocalTxContext tx = new ThreadLocalTxContext();
    private final JdbcInbox inbox = JdbcInbox.builder()
            .connectionProvider(pool::getConnection)
            .txContext(tx)
            .build();
    private final IdempotentListener listener = new IdempotentListener(inbox, "notification", this::notifyOnce);

    @BeforeEach
    void createTables() throws SQLException {
        OutboxSchema.createInbox(pool, inbox);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE notification (id INT AUTO_INCREMENT PRIMARY KEY, event VARCHAR(36))");
        }
    }

    private void notifyOnce(EventEnvelope event) throws SQLException {
        try (var insert = tx.currentConnection().prepareStatement("INSERT INTO notification (event) VALUES (?)")) {
            insert.setString(1, event.eventId());
            insert.executeUpdate();
        }
        if (event.payloadJson().equals("fail")) {
            throw new IllegalStateException("after the effect");
        }
    }

    private long notifications() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet count = statement.executeQuery("SELECT COUNT(*) FROM notification")) {
            count.next();
            return count.getLong(1);
        }
    }

    private static EventEnvelope event(String payload) {
        return EventEnvelope.builder("EnrollmentCreated")
                .dedupKey("enrollment:7")
                .payloadJson(payload)
                .build();
    }

    @Test
    void events_with_one_key_take_effect_once_however_many_come_at_the_same_time() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(6);
        try {
            List<Future<?>> copies = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                copies.add(threads.submit(() -> {
                    deliver(event("{}"));
                    return true;
                }));
            }
            for (Future<?> copy : copies) {
                copy.get(60, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(notifications()).isEqualTo(1);
    }

    /** Retries an event, as a dispatcher does. */
    private void deliver(EventEnvelope event) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                listener.onEvent(event);
                return;
            } catch (RetryLaterException e) {
                if (tries == 20 || e.isCounted()) {
                    throw e;
                }
            }
        }
    }

    @Test
    void a_listener_that_fails_leaves_neither_effect_nor_mark() throws Exception {
        assertThatThrownBy(() -> listener.onEvent(event("fail"))).hasMessage("after the effect");
        assertThat(notifications()).isZero();

        listener.onEvent(event("{}"));

        assertThat(notifications()).isEqualTo(1);
    }

    @Test
    void an_inbox_that_cannot_do_its_part_costs_no_attempt() {
        IdempotentListener broken = new IdempotentListener(
                JdbcInbox.builder()
                        .connectionProvider(() -> {
                            throw new SQLException("no route to the database", "08001");
                        })
                        .build(),
                "notification",
                event -> {});

        assertThatThrownBy(() -> broken.onEvent(event("{}")))
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        later -> assertThat(later.isCounted()).isFalse());
    }
}
