package outbox.poller;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.fake.CapturedLog;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeConnections;
import outbox.fake.MemoryEventStore;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.order.Ordering;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static outbox.fake.Eventually.eventually;

/** Tests single poll cycles that are started by the test. */
class OutboxPollerTest {

    private final FakeConnections connections = new FakeConnections();
    private final ClaimingStore store = new ClaimingStore();
    private final CountedMetrics metrics = new CountedMetrics();
    private final List<String> handled = new CopyOnWriteArrayList<>();

    @Test
    void a_poller_of_seven_arguments_reads_without_claiming() {
        EventEnvelope event = store.given("t");
        OutboxPoller poller =
                new OutboxPoller(connections, store, this::handle, Duration.ZERO, 50, 5000, MetricsExporter.NOOP);

        poller.poll();

        assertThat(handled).containsExactly(event.eventId());
        assertThat(store.calls()).containsExactly("pollPending");
        assertThat(poller.lockTimeout()).isNull();
        assertThat(connections.open()).isZero();
    }

    @Test
    void a_poller_that_does_not_claim_is_refused_for_delivery_in_order() {
        OutboxPollerHandler ordered = new OutboxPollerHandler() {
            @Override
            public boolean handle(EventEnvelope event, int attempts) {
                return true;
            }

            @Override
            public PollerNeeds needs() {
                return new PollerNeeds() {
                    @Override
                    public Ordering ordering() {
                        return Ordering.perAggregate();
                    }
                };
            }
        };

        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        new OutboxPoller(connections, store, ordered, Duration.ZERO, 50, 5000, MetricsExporter.NOOP))
                .withMessageContaining("lockTimeout");
    }

    @Test
    void a_poller_of_nine_arguments_claims_for_its_owner() {
        store.given("t");
        OutboxPoller poller = new OutboxPoller(
                connections,
                store,
                this::handle,
                Duration.ofSeconds(0),
                7,
                5000,
                MetricsExporter.NOOP,
                "node-1",
                Duration.ofMinutes(2));

        poller.poll();

        assertThat(handled).hasSize(1);
        assertThat(store.claims).singleElement().satisfies(claim -> {
            assertThat(claim.owner()).isEqualTo("node-1");
            assertThat(claim.limit()).isEqualTo(7);
            assertThat(Duration.between(claim.lockExpiry(), claim.now()))
                    .isCloseTo(Duration.ofMinutes(2), Duration.ofSeconds(1));
        });
    }

    @Test
    void what_is_left_out_of_nine_arguments_gets_the_defaults_of_the_specification() {
        OutboxPoller poller = new OutboxPoller(
                connections, store, this::handle, Duration.ZERO, 50, 5000, MetricsExporter.NOOP, null, null);

        poller.poll();

        assertThat(poller.lockTimeout()).isEqualTo(Duration.ofMinutes(5));
        assertThat(store.claims)
                .singleElement()
                .satisfies(claim -> assertThat(claim.owner()).isNotBlank());
    }

    @Test
    void two_pollers_without_a_name_are_different_owners() {
        poller(this::handle).poll();
        poller(this::handle).poll();

        assertThat(store.claims).extracting(Claimed::owner).doesNotHaveDuplicates();
    }

    @Test
    void a_built_poller_claims_with_the_defaults_of_the_specification() {
        OutboxPoller poller = poller(this::handle);

        poller.poll();

        assertThat(store.claims).singleElement().satisfies(claim -> {
            assertThat(claim.limit()).isEqualTo(50);
            assertThat(claim.skipRecent()).isEqualTo(Duration.ZERO);
            assertThat(Duration.between(claim.lockExpiry(), claim.now()))
                    .isCloseTo(Duration.ofMinutes(5), Duration.ofSeconds(1));
        });
    }

    @Test
    void recent_events_are_left_alone() {
        store.given("t");
        OutboxPoller poller =
                builder(this::handle).skipRecent(Duration.ofHours(1)).build();

        poller.poll();

        assertThat(handled).isEmpty();
        assertThat(store.claims).extracting(Claimed::skipRecent).containsExactly(Duration.ofHours(1));
    }

    @Test
    void a_store_that_cannot_claim_is_read() {
        MemoryEventStore plain = new MemoryEventStore();
        EventEnvelope event = plain.given("t");
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(plain)
                .handler(this::handle)
                .ownerId("node-1")
                .build();

        poller.poll();

        assertThat(handled).containsExactly(event.eventId());
        assertThat(plain.calls()).containsExactly("pollPending");
    }

    @Test
    void events_are_handed_over_oldest_first_with_their_attempts() {
        Instant now = Instant.now();
        store.put(row("second", null, 2, now.minusSeconds(1)), now);
        store.put(row("first", null, 5, now.minusSeconds(2)), now);

        poller((event, attempts) -> handled.add(event.eventId() + " " + attempts))
                .poll();

        assertThat(handled).containsExactly("first 5", "second 2");
    }

    @Test
    void a_handler_that_is_full_ends_the_cycle_and_the_rest_stays() {
        List<String> ids = List.of(
                store.given("t").eventId(),
                store.given("t").eventId(),
                store.given("t").eventId());
        OutboxPoller poller = poller((event, attempts) -> handled.size() < 2 && handled.add(event.eventId()));

        poller.poll();

        assertThat(handled).containsExactly(ids.get(0), ids.get(1));
        assertThat(store.status(ids.get(2))).isEqualTo(EventStatus.NEW);
        assertThat(store.claims).hasSize(1);
    }

    @Test
    void a_handler_without_capacity_is_not_bothered_and_the_store_is_not_asked() {
        store.given("t");
        OutboxPollerHandler full = new OutboxPollerHandler() {
            @Override
            public boolean handle(EventEnvelope event, int attempts) {
                return handled.add(event.eventId());
            }

            @Override
            public boolean hasCapacity() {
                return false;
            }
        };

        poller(full).poll();

        assertThat(handled).isEmpty();
        assertThat(store.calls()).isEmpty();
        assertThat(store.claims).isEmpty();
    }

    @Test
    void no_more_is_claimed_than_the_handler_has_room_for() {
        OutboxPollerHandler small = new OutboxPollerHandler() {
            @Override
            public boolean handle(EventEnvelope event, int attempts) {
                return true;
            }

            @Override
            public PollerNeeds needs() {
                return new PollerNeeds() {
                    @Override
                    public int room() {
                        return 3;
                    }
                };
            }
        };

        poller(small).poll();

        assertThat(store.claims).extracting(Claimed::limit).containsExactly(3);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "[1]", "{\"a\":{}}", "nonsense"})
    void a_row_that_cannot_be_decoded_is_dead_and_the_rest_goes_on(String headers) {
        Instant now = Instant.now();
        store.put(row("broken", headers, 0, now.minusSeconds(2)), now);
        store.put(row("good", "{\"a\":\"b\"}", 0, now.minusSeconds(1)), now);

        try (CapturedLog log = CapturedLog.of(PollCycle.class)) {
            poller(this::handle).poll();

            assertThat(log.messages(Level.SEVERE)).singleElement().asString().contains("broken", "cannot be decoded");
        }
        assertThat(handled).containsExactly("good");
        assertThat(store.status("broken")).isEqualTo(EventStatus.DEAD);
        assertThat(store.row("broken").error()).contains("Cannot be decoded", "Malformed JSON");
    }

    @Test
    void a_row_that_can_neither_be_decoded_nor_marked_does_not_stop_the_rest() {
        Instant now = Instant.now();
        store.put(row("broken", "{", 0, now.minusSeconds(2)), now);
        store.put(row("good", null, 0, now.minusSeconds(1)), now);
        store.beforeEachCall(call -> {
            if (call.startsWith("markDead")) {
                throw new IllegalStateException("not now");
            }
        });

        poller(this::handle).poll();

        assertThat(handled).containsExactly("good");
        assertThat(store.status("broken")).isEqualTo(EventStatus.NEW);
    }

    @Test
    void a_store_that_fails_is_logged_and_not_thrown() {
        store.beforeEachCall(call -> {
            throw new IllegalStateException("no such table");
        });
        OutboxPoller poller = poller(this::handle);

        try (CapturedLog log = CapturedLog.of(OutboxPoller.class)) {
            for (int i = 0; i < 10; i++) {
                poller.poll();
            }

            assertThat(log.messages(Level.SEVERE)).singleElement().asString().contains("poll cycle failed");
        }
        assertThat(connections.open()).isZero();
    }

    @Test
    void an_error_of_the_store_is_not_thrown_either() {
        store.beforeEachCall(call -> {
            throw new StackOverflowError();
        });

        poller(this::handle).poll();

        assertThat(connections.open()).isZero();
    }

    @Test
    void a_database_that_is_away_is_survived() {
        EventEnvelope event = store.given("t");
        OutboxPoller poller = poller(this::handle);
        connections.goDown(true);
        poller.poll();
        connections.goDown(false);

        poller.poll();

        assertThat(handled).containsExactly(event.eventId());
    }

    @Test
    void a_handler_that_throws_leaves_the_event_in_the_table() {
        EventEnvelope event = store.given("t");
        OutboxPoller poller = poller((given, attempts) -> {
            handled.add(given.eventId());
            throw new IllegalStateException("broken");
        });

        poller.poll();
        poller.poll();

        assertThat(handled).containsExactly(event.eventId(), event.eventId());
        assertThat(store.status(event.eventId())).isEqualTo(EventStatus.NEW);
    }

    @Test
    void the_age_of_the_oldest_event_is_recorded() {
        Instant now = Instant.now();
        store.put(row("old", null, 0, now.minusSeconds(60)), now);
        store.put(row("young", null, 0, now), now);

        builder(this::handle).metrics(metrics.exporter()).build().poll();

        assertThat((long) metrics.last("recordOldestLagMs")[0]).isBetween(60_000L, 65_000L);
    }

    @Test
    void without_events_the_lag_is_zero() {
        builder(this::handle).metrics(metrics.exporter()).build().poll();

        assertThat(metrics.last("recordOldestLagMs")).containsExactly(0L);
    }

    @Test
    void what_a_poller_finds_is_delivered_by_the_dispatcher_behind_its_handler() {
        DefaultListenerRegistry registry =
                new DefaultListenerRegistry().register("t", event -> handled.add(event.eventId()));
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            ids.add(store.given("t").eventId());
        }
        try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry(registry)
                .coldQueueCapacity(3)
                .metrics(metrics.exporter())
                .build()) {
            OutboxPoller poller = poller(new DispatcherPollerHandler(dispatcher));

            eventually(() -> {
                poller.poll();
                assertThat(ids).allSatisfy(id -> assertThat(store.status(id)).isEqualTo(EventStatus.DONE));
            });
        }
        // without claims, an event that ends while it is read may be delivered twice
        assertThat(handled).hasSameElementsAs(ids);
        assertThat(metrics.count("incrementHotEnqueued")).isZero();
        assertThat(store.claims).allSatisfy(claim -> assertThat(claim.limit()).isBetween(1, 3));
    }

    @Test
    void what_a_handler_took_is_counted_for_the_poller_and_what_it_refused_is_not() {
        store.given("t");
        store.given("t");
        store.given("t");

        builder((event, attempts) -> handled.size() < 2 && handled.add(event.eventId()))
                .metrics(metrics.exporter())
                .build()
                .poll();

        assertThat(metrics.count("incrementColdEnqueued")).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void an_exporter_of_both_poller_and_dispatcher_counts_an_event_once(boolean ownHandler) {
        assertThat(coldCountsOf(metrics, metrics, ownHandler)).containsExactly(2, 2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void the_exporters_of_poller_and_dispatcher_each_count_an_event(boolean ownHandler) {
        assertThat(coldCountsOf(metrics, new CountedMetrics(), ownHandler)).containsExactly(2, 2);
    }

    private List<Integer> coldCountsOf(CountedMetrics ofPoller, CountedMetrics ofDispatcher, boolean ownHandler) {
        store.given("t");
        store.given("t");
        try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry(new DefaultListenerRegistry().register("t", event -> {}))
                .metrics(ofDispatcher.exporter())
                .build()) {
            OutboxPollerHandler handler = ownHandler
                    ? (event, attempts) ->
                            dispatcher.enqueueCold(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts))
                    : new DispatcherPollerHandler(dispatcher);

            builder(handler).metrics(ofPoller.exporter()).build().poll();
        }
        return List.of(ofPoller.count("incrementColdEnqueued"), ofDispatcher.count("incrementColdEnqueued"));
    }

    private boolean handle(EventEnvelope event, int attempts) {
        return handled.add(event.eventId());
    }

    private OutboxPoller poller(OutboxPollerHandler handler) {
        return builder(handler).build();
    }

    private OutboxPoller.Builder builder(OutboxPollerHandler handler) {
        return OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(handler);
    }

    private static OutboxEvent row(String id, @Nullable String headers, int attempts, Instant createdAt) {
        return new OutboxEvent(id, "t", null, null, null, "{}", headers, attempts, createdAt);
    }

    private record Claimed(String owner, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {}

    /** Also claims, as the specification allows a store to do, and records the calls. */
    private static final class ClaimingStore extends MemoryEventStore {

        final List<Claimed> claims = new CopyOnWriteArrayList<>();

        @Override
        public List<OutboxEvent> claimPending(
                Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
            claims.add(new Claimed(ownerId, now, lockExpiry, skipRecent, limit));
            return pollPending(conn, now, skipRecent, limit);
        }
    }
}
