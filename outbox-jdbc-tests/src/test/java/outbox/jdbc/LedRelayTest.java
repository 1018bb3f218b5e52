package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.relay.Relay;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Two relays on a module's outbox. The advisory lock of PostgreSQL decides which of them leads. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LedRelayTest {

    /** A delivered event with the node that received it. */
    private record Delivery(String node, long sequence) {}

    private static final Duration TAKE_OVER = Duration.ofSeconds(20);

    // A term is half of the interval. A leader that gets no processor time for a term loses the lead. Where the
    // tests assert which node leads, the term is longer than the pauses of a busy machine.
    private static final Duration STEADY = Duration.ofSeconds(4);
    private static final Duration BRIEF = Duration.ofMillis(400);

    private static final String HELD = "locktype = 'advisory' AND objsubid = 1 AND database = "
            + "(SELECT oid FROM pg_database WHERE datname = current_database())";

    private final List<Delivery> deliveries = new CopyOnWriteArrayList<>();
    private final AtomicReference<String> delivering = new AtomicReference<>("");
    private final AtomicBoolean together = new AtomicBoolean();
    private final List<Relay> relays = new ArrayList<>();

    @SuppressWarnings("NullAway.Init") // before each test
    private ModuleTable db;

    @BeforeEach
    void freshTable() {
        db = new ModuleTable();
    }

    @AfterEach
    void closeRelays() {
        relays.forEach(Relay::close);
    }

    @Test
    void one_delivers_until_it_closes_and_then_the_other_does() {
        Relay first = started("first", STEADY);
        await().atMost(TAKE_OVER).until(first::isActive);
        Relay second = started("second", STEADY);
        writeAndAwait(30);
        assertThat(second.isActive()).isFalse();

        first.close();
        assertThat(first.isActive()).isFalse();
        await().atMost(TAKE_OVER).until(second::isActive);
        writeAndAwait(30);

        assertDelivered("first", 1, 30);
        assertDelivered("second", 31, 60);
        second.close();
        assertThat(holders()).isZero();
    }

    /** Both relays are polled by the test, so that it knows which of them asks for the lead next. */
    @Test
    void when_the_backend_of_the_leader_is_terminated_the_other_takes_over() {
        Relay first = relay("first", STEADY);
        Relay second = relay("second", STEADY);
        pollUntil(first, first::isActive);
        second.poll();
        write(30);
        pollUntil(first, this::allIsPublished);
        second.poll();
        assertThat(second.isActive()).isFalse();

        terminateLeader();
        await().atMost(TAKE_OVER).until(() -> !first.isActive());
        pollUntil(second, second::isActive);
        write(30);
        first.poll();
        // the first poll notices that the lead is lost, the second one asks for it
        first.poll();
        assertThat(first.isActive()).isFalse();
        pollUntil(second, this::allIsPublished);

        assertDelivered("first", 1, 30);
        assertDelivered("second", 31, 60);
        assertThat(holders()).isEqualTo(1);
        second.close();
        pollUntil(first, first::isActive);
    }

    @Test
    void whatever_is_done_to_the_leader_there_is_one_at_a_time_and_first_appearances_are_in_order() {
        started("first", BRIEF);
        started("second", BRIEF);
        for (int round = 0; round < 3; round++) {
            await().atMost(TAKE_OVER).until(() -> holders() == 1);
            for (int i = 0; i < 40; i++) {
                db.insert("{}");
                if (i == 20) {
                    terminateLeader();
                }
            }
        }
        await().atMost(TAKE_OVER).until(this::allIsPublished);

        assertThat(together).isFalse();
        assertThat(deliveries.stream().map(Delivery::sequence).distinct().toList())
                .isEqualTo(LongStream.rangeClosed(1, 120).boxed().toList());
    }

    @Test
    void a_new_leader_waits_for_rows_that_the_leader_before_it_is_releasing() throws SQLException {
        write(10);
        Relay leader = relay("first", STEADY);
        try (Connection releasing = db.dataSource.getConnection();
                Statement statement = releasing.createStatement()) {
            releasing.setAutoCommit(false);
            statement.executeQuery("SELECT event_id FROM " + db.table + " WHERE sequence <= 3 FOR UPDATE");

            pollUntil(leader, leader::isActive);
            leader.poll();
            assertThat(deliveries).isEmpty();
            releasing.commit();
        }
        pollUntil(leader, this::allIsPublished);

        assertThat(deliveries)
                .extracting(Delivery::sequence)
                .containsExactlyElementsOf(LongStream.rangeClosed(1, 10).boxed().toList());
    }

    private long holders() {
        return db.number("SELECT COUNT(*) FROM pg_locks WHERE " + HELD);
    }

    private void terminateLeader() {
        assertThat(db.number("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_locks WHERE " + HELD))
                .isEqualTo(1);
    }

    private static void pollUntil(Relay relay, BooleanSupplier condition) {
        await().atMost(TAKE_OVER).until(() -> {
            relay.poll();
            return condition.getAsBoolean();
        });
    }

    private Relay started(String node, Duration pollInterval) {
        Relay relay = relay(node, pollInterval);
        relay.start();
        return relay;
    }

    private Relay relay(String node, Duration pollInterval) {
        Relay relay = Relay.builder()
                .connectionProvider(db.dataSource::getConnection)
                .eventStore(db.store(25))
                .leadership(JdbcLeadership.of(db.dataSource, db.table, pollInterval.dividedBy(2)))
                .pollInterval(pollInterval)
                .dispatcher(message ->
                        deliver(node, Objects.requireNonNull(message.meta().sequence())))
                .build();
        relays.add(relay);
        return relay;
    }

    private void deliver(String node, long sequence) throws InterruptedException {
        if (!delivering.compareAndSet("", node)) {
            together.set(true);
        }
        deliveries.add(new Delivery(node, sequence));
        try {
            TimeUnit.MILLISECONDS.sleep(2); // long enough to overlap with the other
        } finally {
            delivering.set("");
        }
    }

    private void writeAndAwait(int events) {
        write(events);
        await().atMost(TAKE_OVER).until(this::allIsPublished);
    }

    private void write(int events) {
        for (int i = 0; i < events; i++) {
            db.insert("{}");
        }
    }

    private boolean allIsPublished() {
        return db.count("published_at IS NULL") == 0;
    }

    private void assertDelivered(String node, long from, long to) {
        List<Long> sequences = deliveries.stream()
                .filter(delivery -> delivery.node().equals(node))
                .map(Delivery::sequence)
                .toList();
        assertThat(new HashSet<>(sequences))
                .containsExactlyInAnyOrderElementsOf(
                        LongStream.rangeClosed(from, to).boxed().toList());
        assertThat(together).isFalse();
    }
}
