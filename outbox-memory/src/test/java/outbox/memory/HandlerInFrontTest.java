package outbox.memory;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.fake.CapturedLog;
import outbox.fake.FakeLeadership;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.poller.OutboxPollerHandler;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/** A handler that has only {@code handle} in front of the one of a dispatcher loses none of its features. */
class HandlerInFrontTest {

    enum Kind {
        OURS {
            @Override
            OutboxPollerHandler of(OutboxDispatcher dispatcher) {
                return new DispatcherPollerHandler(dispatcher);
            }
        },
        WRAPPER {
            @Override
            OutboxPollerHandler of(OutboxDispatcher dispatcher) {
                OutboxPollerHandler ours = new DispatcherPollerHandler(dispatcher);
                return (event, attempts) -> ours.handle(event, attempts);
            }
        },
        LAMBDA {
            @Override
            OutboxPollerHandler of(OutboxDispatcher dispatcher) {
                return (event, attempts) ->
                        dispatcher.enqueueCold(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts));
            }
        };

        abstract OutboxPollerHandler of(OutboxDispatcher dispatcher);
    }

    private final MemoryEventStore memory = MemoryEventStore.builder().build();
    private final AtomicInteger looks = new AtomicInteger();
    private final List<String> delivered = new CopyOnWriteArrayList<>();
    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void the_poller_does_not_look_while_the_dispatcher_has_no_room(Kind kind) throws SQLException {
        OutboxDispatcher dispatcher =
                dispatcher(builder -> builder.coldQueueCapacity(4).workerCount(0));
        OutboxPoller poller = poller(kind.of(dispatcher));
        insert(20);
        poller.poll();
        int before = looks.get();

        poller.poll();
        poller.poll();

        assertThat(looks).as("looks at the table").hasValue(before);
        assertThat(dispatcher.status().coldWaiting()).isEqualTo(4);
    }

    @ParameterizedTest
    @EnumSource
    void events_are_delivered_in_order(Kind kind) throws SQLException {
        OutboxDispatcher dispatcher =
                dispatcher(builder -> builder.ordering(Ordering.perAggregate()).workerCount(4));
        OutboxPoller poller = poller(kind.of(dispatcher));
        List<String> written = insert(30);

        eventually(() -> {
            poller.poll();
            assertThat(delivered).hasSize(30);
        });

        assertThat(delivered).containsExactlyElementsOf(written);
    }

    @ParameterizedTest
    @EnumSource
    void only_a_leader_delivers(Kind kind) throws SQLException {
        FakeLeadership leadership = new FakeLeadership();
        leadership.leads = false;
        leadership.sure = false;
        OutboxPoller poller = poller(kind.of(dispatcher(builder -> builder.leadership(leadership))));
        insert(1);

        poller.poll();
        poller.poll();

        assertThat(leadership.asked)
                .as("questions of the poller whether it leads")
                .hasPositiveValue();
        assertThat(delivered).isEmpty();

        leadership.leads = true;
        leadership.sure = true;
        eventually(() -> {
            poller.poll();
            assertThat(delivered).hasSize(1);
        });
    }

    @ParameterizedTest
    @EnumSource
    void the_poller_is_woken_when_an_event_is_released(Kind kind) throws SQLException {
        OutboxDispatcher dispatcher = dispatcher(builder -> builder);
        OutboxPoller poller = poller(kind.of(dispatcher));
        insert(1);
        poller.poll();
        eventually(() -> assertThat(delivered).hasSize(1));

        assertThat(new DispatcherCommitHook(dispatcher).leavesFreeEvents())
                .as("a poller takes free events")
                .isTrue();
    }

    @ParameterizedTest
    @EnumSource(names = {"WRAPPER", "LAMBDA"})
    void a_poller_without_claims_is_refused_for_delivery_in_order(Kind kind) throws SQLException {
        OutboxPollerHandler handler = kind.of(dispatcher(builder -> builder.ordering(Ordering.perAggregate())));
        insert(1);
        try (OutboxPoller poller = new OutboxPoller(
                        memory.connections(), memory, handler, Duration.ZERO, 50, 5000, MetricsExporter.NOOP);
                CapturedLog log = CapturedLog.of(named("outbox.poller.PollCycle"))) {
            poller.poll();

            assertThat(log.messages(Level.SEVERE)).singleElement().asString().contains("failed to take event");
        }
        assertThat(delivered).isEmpty();
    }

    @Test
    void an_event_keeps_its_claim_on_its_way_to_a_dispatcher_on_another_thread() throws Exception {
        OutboxDispatcher dispatcher = dispatcher(builder -> builder);
        List<QueuedEvent> later = new ArrayList<>();
        OutboxPoller poller =
                poller((event, attempts) -> later.add(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts)));
        List<String> written = insert(3);
        poller.poll();
        Thread thread = new Thread(() -> later.forEach(dispatcher::enqueueCold));
        thread.start();
        thread.join();

        eventually(() -> assertThat(delivered).hasSameElementsAs(written));
        eventually(() -> assertThat(memory.pending()).isZero());
    }

    @Test
    void the_needs_that_a_handler_states_stay_in_force() throws SQLException {
        OutboxPollerHandler ours = new DispatcherPollerHandler(dispatcher(builder -> builder));
        AtomicInteger room = new AtomicInteger(1);
        OutboxPoller poller = poller(new OutboxPollerHandler() {

            @Override
            public boolean handle(EventEnvelope event, int attempts) {
                return ours.handle(event, attempts);
            }

            @Override
            public PollerNeeds needs() {
                return new PollerNeeds() {

                    @Override
                    public int room() {
                        return room.get();
                    }
                };
            }
        });
        insert(3);
        poller.poll();
        room.set(0);
        int before = looks.get();

        poller.poll();

        assertThat(looks).as("looks at the table").hasValue(before);
    }

    @Test
    void a_claim_is_for_one_delivery() throws SQLException {
        OutboxDispatcher dispatcher = dispatcher(builder -> builder);
        List<QueuedEvent> kept = new ArrayList<>();
        insert(1);
        poller((event, attempts) -> kept.add(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts)))
                .poll();
        dispatcher.enqueueCold(kept.get(0));
        eventually(() -> assertThat(memory.pending()).isZero());

        dispatcher.enqueueCold(kept.get(0));
        dispatcher.close();

        assertThat(delivered).hasSize(1);
    }

    private OutboxDispatcher dispatcher(UnaryOperator<OutboxDispatcher.Builder> settings) {
        OutboxDispatcher dispatcher = settings.apply(OutboxDispatcher.builder()
                        .connectionProvider(memory.connections())
                        .eventStore(memory)
                        .listenerRegistry(new DefaultListenerRegistry()
                                .register("A", "T", event -> delivered.add(event.eventId())))
                        .drainQueues(false))
                .build();
        open.add(dispatcher);
        return dispatcher;
    }

    private OutboxPoller poller(OutboxPollerHandler handler) {
        ConnectionProvider counting = () -> {
            looks.incrementAndGet();
            return memory.connections().getConnection();
        };
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(counting)
                .eventStore(memory)
                .handler(handler)
                .build();
        open.add(0, poller);
        return poller;
    }

    private List<String> insert(int count) throws SQLException {
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            events.add(EventEnvelope.builder("T")
                    .aggregateType("A")
                    .aggregateId("1")
                    .payloadJson("{}")
                    .build());
        }
        try (Connection connection = memory.connections().getConnection()) {
            memory.insertAll(connection, events, null);
        }
        return events.stream().map(EventEnvelope::eventId).toList();
    }

    private static Class<?> named(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }
}
