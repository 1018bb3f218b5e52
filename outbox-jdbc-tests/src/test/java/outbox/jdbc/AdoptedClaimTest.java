package outbox.jdbc;

import org.h2.jdbcx.JdbcConnectionPool;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ConnectionProvider;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A hot event is inserted without a claim, because the hot queue is full at that moment. The poller of the same node
 * then finds it too.
 */
class AdoptedClaimTest {

    private final JdbcConnectionPool database = JdbcConnectionPool.create("jdbc:h2:mem:adopted", "", "");
    private final ConnectionProvider connections = new DataSourceConnectionProvider(database);
    private final AbstractJdbcEventStore store = new H2EventStore();
    private final AtomicReference<Runnable> beforeClaimOne = new AtomicReference<>(() -> {});
    private final LinkedBlockingQueue<String> delivered = new LinkedBlockingQueue<>();
    private OutboxDispatcher dispatcher;
    private OutboxPoller poller;

    @BeforeEach
    void start() {
        OutboxSchema.create(database, store);
        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(observedStore())
                .listenerRegistry(
                        new DefaultListenerRegistry().register("OrderPlaced", event -> delivered.add(event.eventId())))
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
    }

    @AfterEach
    void stop() {
        poller.close();
        dispatcher.close();
        database.dispose();
    }

    @Test
    void a_claim_that_comes_while_the_worker_finds_the_event_taken_is_not_forgotten() {
        EventEnvelope event = EventEnvelope.ofJson("OrderPlaced", "{}");
        write(event);
        // claims the event and hands the claim to the run that is about to give up
        beforeClaimOne.set(poller::poll);

        dispatcher.enqueueHot(new QueuedEvent(event, QueuedEvent.Source.HOT, 0));

        await().atMost(Duration.ofSeconds(20)).until(() -> {
            poller.poll();
            return !delivered.isEmpty();
        });
        assertThat(delivered).containsExactly(event.eventId());
    }

    private void write(EventEnvelope event) {
        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        try (Transaction tx = new JdbcTransactionManager(connections, txContext).begin()) {
            new OutboxWriter(txContext, store).write(event);
            tx.commit();
        }
    }

    /** A store that pauses before claimOne. */
    private LeasingEventStore observedStore() {
        return new ForwardingEventStore(store) {
            @Override
            public Optional<ClaimedEvent> claimOne(
                    Connection conn,
                    Claim claim,
                    String eventId,
                    Instant now,
                    Instant lockExpiry,
                    @Nullable Claim held) {
                beforeClaimOne.getAndSet(() -> {}).run();
                return super.claimOne(conn, claim, eventId, now, lockExpiry, held);
            }
        };
    }
}
