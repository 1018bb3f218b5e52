package outbox.memory;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.fake.FakeLeadership;
import outbox.poller.OutboxPoller;
import outbox.poller.OutboxPollerHandler;
import outbox.spi.Claim;
import outbox.spi.ForwardingEventStore;
import outbox.spi.Leadership;
import outbox.spi.LeasingEventStore;
import outbox.spi.PollerNeeds;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;

/** A new leader takes over the leases of the leader before it, and never its own. */
class LeaderOwnLeasesTest {

    private final MemoryEventStore memory = MemoryEventStore.builder().build();
    private final FakeLeadership leadership = new FakeLeadership();
    private final List<String> taken = new CopyOnWriteArrayList<>();
    private final AtomicInteger readings = new AtomicInteger();
    private @Nullable OutboxDispatcher dispatcher;

    @AfterEach
    void close() {
        if (dispatcher != null) {
            dispatcher.close();
        }
    }

    @Test
    void a_new_leader_does_not_take_its_first_claim_again_however_far_readings_of_the_clock_are_apart()
            throws SQLException {
        insert(null);
        try (OutboxPoller poller = poller(readEachTime(memory, 5), keeping(leadership))) {

            poller.poll();
            poller.poll();
            poller.poll();
        }

        assertThat(taken).hasSize(1);
    }

    @Test
    void a_new_leader_does_not_take_what_was_born_leased_to_it_before_its_first_claim() throws Exception {
        OutboxDispatcher leader = OutboxDispatcher.builder()
                .connectionProvider(memory.connections())
                .eventStore(memory)
                .listenerRegistry((aggregateType, eventType) -> event -> {})
                .leadership(leadership)
                .build();
        dispatcher = leader;
        Claim birth = Objects.requireNonNull(new DispatcherCommitHook(leader).birthClaim(1, 2));
        insert(birth);
        OutboxPollerHandler handler = keeping(Objects.requireNonNull(
                new DispatcherPollerHandler(leader).needs().leadership()));
        try (OutboxPoller poller = poller(memory, handler)) {

            poller.poll();
        }

        assertThat(taken).isEmpty();
    }

    @Test
    void a_new_leader_takes_what_the_leader_before_it_had_claimed() throws SQLException {
        insert(null);
        try (OutboxPoller before = poller(memory, keeping(leadership));
                OutboxPoller after = poller(readEachTime(memory, 1000), keeping(new FakeLeadership()))) {
            before.poll();

            after.poll();
            after.poll();
        }

        assertThat(taken).hasSize(2);
    }

    private OutboxPoller poller(LeasingEventStore store, OutboxPollerHandler handler) {
        return OutboxPoller.builder()
                .connectionProvider(memory.connections())
                .eventStore(store)
                .handler(handler)
                .lockTimeout(Duration.ofMinutes(5))
                .build();
    }

    private OutboxPollerHandler keeping(Leadership leading) {
        return new OutboxPollerHandler() {
            @Override
            public boolean handle(EventEnvelope event, int attempts) {
                return taken.add(event.eventId());
            }

            @Override
            public PollerNeeds needs() {
                return new PollerNeeds() {
                    @Override
                    public Leadership leadership() {
                        return leading;
                    }
                };
            }
        };
    }

    private void insert(@Nullable Claim birth) throws SQLException {
        EventEnvelope event = EventEnvelope.builder("T").payloadJson("{}").build();
        try (Connection connection = memory.connections().getConnection()) {
            memory.insertAll(connection, List.of(event), birth);
        }
    }

    /** So many milliseconds pass before each reading of its clock. */
    private LeasingEventStore readEachTime(LeasingEventStore store, long millis) {
        return new ForwardingEventStore(store) {
            @Override
            public boolean isClockSettable() {
                return true;
            }

            @Override
            public Instant now(Connection conn) {
                return super.now(conn).plusMillis(millis * readings.incrementAndGet());
            }
        };
    }
}
