package outbox.memory;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.fake.CapturedLog;
import outbox.internal.DatabaseClock;
import outbox.poller.OutboxPoller;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Two nodes on a store whose clock jumps. */
class ClockJumpTest {

    private final CapturedLog log = CapturedLog.of(DatabaseClock.class);
    private final MemoryEventStore memory = MemoryEventStore.builder().build();
    private final List<String> taken = new CopyOnWriteArrayList<>();
    private volatile Duration offset = Duration.ZERO;

    @AfterEach
    void close() {
        log.close();
    }

    @Test
    void leases_of_other_nodes_outlive_a_jump_of_the_clock() throws SQLException {
        try (OutboxPoller holder = poller();
                OutboxPoller other = poller()) {
            other.poll(); // knows the time
            insert();
            holder.poll();
            assertThat(taken).hasSize(1);

            offset = Duration.ofHours(1);
            await().atMost(Duration.ofSeconds(40)).until(() -> {
                other.poll();
                return hasSeenIt() || taken.size() > 1;
            });
            other.poll();

            assertThat(taken).hasSize(1);
            insert();
            other.poll(); // and what is free is delivered
            assertThat(taken).hasSize(2);
        }
    }

    private boolean hasSeenIt() {
        return log.messages(Level.WARNING).stream().anyMatch(message -> message.contains("went ahead"));
    }

    private OutboxPoller poller() {
        return OutboxPoller.builder()
                .connectionProvider(memory.connections())
                .eventStore(jumping())
                .handler((event, attempts) -> taken.add(event.eventId()))
                .lockTimeout(Duration.ofMinutes(5))
                .build();
    }

    private void insert() throws SQLException {
        EventEnvelope event = EventEnvelope.builder("T").payloadJson("{}").build();
        try (Connection connection = memory.connections().getConnection()) {
            memory.insertAll(connection, List.of(event), null);
        }
    }

    /** Answers slowly, so that it is asked often. */
    private LeasingEventStore jumping() {
        return new ForwardingEventStore(memory) {
            @Override
            public Instant now(Connection conn) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
                return super.now(conn).plus(offset);
            }
        };
    }
}
