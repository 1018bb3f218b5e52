package outbox.rabbitmq;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.NoOpMetricsCollector;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.OutboxException;
import outbox.RetryLaterException;
import outbox.dispatch.CircuitBreaker;
import outbox.rabbitmq.PublishRefusedException.Reason;
import outbox.testing.fault.FaultProxy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class RabbitTransportTest {
    private static final Duration SECONDS = Duration.ofSeconds(30);

    private final Rabbit rabbit = Rabbit.shared();
    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private RabbitTransport start(RabbitTransport.Builder settings) {
        RabbitTransport transport = settings.build();
        open.add(transport);
        return transport;
    }

    private RabbitTransport.Builder byType() {
        return RabbitTransport.builder().connectionFactory(rabbit.factory()).exchange("orders");
    }

    /** Takes exchange and routing key from the event type, such as {@code orders/placed}. */
    private RabbitTransport.Builder byName() {
        return RabbitTransport.builder().connectionFactory(rabbit.factory()).route(event -> {
            String[] names = event.eventType().split("/", 2);
            return new RabbitRoute(names[0], names[1]);
        });
    }

    private void declareOrders() {
        rabbit.topology(RabbitTopology.builder()
                .topicExchange("orders")
                .queue(RabbitQueue.named("placed"))
                .bind("placed", "orders", "placed")
                .build());
    }

    private static EventEnvelope event(String type, String id) {
        return EventEnvelope.builder(type).eventId(id).payloadJson("{}").build();
    }

    /** Returns the failure, or null if the event was delivered. */
    private static @Nullable Throwable end(RabbitTransport transport, EventEnvelope event) {
        return end(transport.onEventAsync(event).toCompletableFuture());
    }

    private static @Nullable Throwable end(CompletableFuture<?> stage) {
        try {
            stage.orTimeout(40, TimeUnit.SECONDS).join();
            return null;
        } catch (CompletionException e) {
            return e.getCause();
        }
    }

    /** Publishes all events concurrently, so that they share a channel. */
    private static Map<String, @Nullable Throwable> endAll(RabbitTransport transport, List<EventEnvelope> events) {
        Map<String, CompletableFuture<?>> stages = new LinkedHashMap<>();
        events.forEach(event ->
                stages.put(event.eventId(), transport.onEventAsync(event).toCompletableFuture()));
        Map<String, @Nullable Throwable> ends = new HashMap<>();
        stages.forEach((id, stage) -> ends.put(id, end(stage)));
        return ends;
    }

    private static Reason reasonOf(@Nullable Throwable failure) {
        if (failure instanceof PublishRefusedException refused) {
            return refused.reason();
        }
        throw new AssertionError("Not refused by the broker", failure);
    }

    @Test
    void hundreds_of_events_in_flight_arrive_in_their_order() {
        declareOrders();
        RabbitTransport transport = start(byType());
        List<String> ids = new ArrayList<>();
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            ids.add("e" + i);
            events.add(event("placed", "e" + i));
        }

        assertThat(endAll(transport, events).values()).containsOnlyNulls();

        assertThat(rabbit.drainIds("placed")).isEqualTo(ids);
        assertThat(transport.health().inFlight()).isZero();
        assertThat(transport.health().isUp()).isTrue();
    }

    @Test
    void of_several_nodes_one_that_answers_is_used() {
        declareOrders();
        ConnectionFactory factory = rabbit.factory();
        int port = factory.getPort();
        factory.setPort(1); // no server listens here
        RabbitTransport transport = start(RabbitTransport.builder()
                .connectionFactory(factory)
                .addresses(() -> List.of(new Address("127.0.0.1", 1), new Address("127.0.0.1", port)))
                .exchange("orders"));

        assertThat(end(transport, event("placed", "e1"))).isNull();

        assertThat(rabbit.drainIds("placed")).containsExactly("e1");
    }

    @Test
    void a_listener_of_other_ways_shares_the_transport() {
        declareOrders();
        RabbitTransport transport = start(byType());
        AsyncEventListener listener = transport.routed(
                event -> event.eventType().equals("other") ? null : new RabbitRoute("orders", "placed"));

        assertThat(end(transport.onEventAsync(event("placed", "e1")).toCompletableFuture()))
                .isNull();
        assertThat(end(stage(listener, event("anything", "e2")))).isNull();

        assertThat(end(stage(listener, event("other", "e3")))).isInstanceOf(GiveUpException.class);
        assertThat(rabbit.drainIds("placed")).containsExactly("e1", "e2");
        assertThat(listener.listenerName()).isEqualTo(transport.listenerName());
        assertThat(listener.maxInFlight()).isEqualTo(transport.maxInFlight());
    }

    private static CompletableFuture<?> stage(AsyncEventListener listener, EventEnvelope event) {
        try {
            return listener.onEventAsync(event).toCompletableFuture();
        } catch (Exception e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Test
    void an_event_that_no_queue_takes_fails_alone() {
        declareOrders();
        RabbitTransport transport = start(byType());
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            events.add(event(i % 50 == 7 ? "lost" : "placed", "e" + i));
        }

        Map<String, @Nullable Throwable> ends = endAll(transport, events);

        for (EventEnvelope event : events) {
            Throwable failure = ends.get(event.eventId());
            if (event.eventType().equals("lost")) {
                assertThat(reasonOf(failure)).isEqualTo(Reason.UNROUTABLE);
                assertThat(failure).hasMessageContaining("NO_ROUTE").hasMessageContaining("'lost'");
            } else {
                assertThat(failure).isNull();
            }
        }
        assertThat(rabbit.drainIds("placed")).hasSize(294).doesNotHaveDuplicates();
    }

    @Test
    void a_missing_exchange_fails_its_event_and_disturbs_no_other() {
        declareOrders();
        RabbitTransport transport = start(byName());
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            events.add(event(i % 50 == 7 ? "nowhere/placed" : "orders/placed", "e" + i));
        }

        Map<String, @Nullable Throwable> ends = endAll(transport, events);

        ends.forEach((id, failure) -> {
            if (List.of("e7", "e57", "e107", "e157").contains(id)) {
                assertThat(reasonOf(failure)).isEqualTo(Reason.NO_EXCHANGE);
                assertThat(failure).hasMessageContaining("'nowhere'");
            } else {
                assertThat(failure).isNull();
            }
        });
        assertThat(rabbit.drainIds("placed")).hasSize(196).doesNotHaveDuplicates();
    }

    @Test
    void an_exchange_that_is_deleted_fails_its_events_and_the_others_arrive_over_the_next_channel() {
        declareOrders();
        rabbit.call(channel -> channel.exchangeDeclare("short-lived", BuiltinExchangeType.FANOUT));
        rabbit.call(channel -> channel.queueBind("placed", "short-lived", ""));
        RabbitTransport transport = start(byName());
        assertThat(end(transport, event("short-lived/", "seen"))).isNull();
        rabbit.call(channel -> channel.exchangeDelete("short-lived"));
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            events.add(event(i == 20 || i == 120 ? "short-lived/" : "orders/placed", "e" + i));
        }

        Map<String, @Nullable Throwable> ends = endAll(transport, events);

        assertThat(reasonOf(ends.remove("e20"))).isEqualTo(Reason.NO_EXCHANGE);
        assertThat(reasonOf(ends.remove("e120"))).isEqualTo(Reason.NO_EXCHANGE);
        assertThat(ends.values()).containsOnlyNulls();
        assertThat(rabbit.drainIds("placed")).containsAll(ends.keySet());
    }

    @Test
    void an_event_for_which_the_broker_closes_the_channel_is_told_apart_from_its_neighbours() {
        declareOrders();
        MessageFormat poisonous = event -> {
            RabbitMessage message = MessageFormat.CONTRACT.messageOf(event);
            if (!event.eventId().startsWith("bad")) {
                return message;
            }
            Map<String, Object> headers = new HashMap<>(message.properties().getHeaders());
            headers.put("CC", "no list, which the broker answers by 406");
            return RabbitMessage.of(
                    message.properties().builder().headers(headers).build(), message.body());
        };
        RabbitTransport transport = start(byType().format(poisonous));
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            events.add(event("placed", (i == 10 || i == 60 ? "bad" : "e") + i));
        }

        Map<String, @Nullable Throwable> ends = endAll(transport, events);

        for (String bad : List.of("bad10", "bad60")) {
            Throwable failure = ends.remove(bad);
            assertThat(reasonOf(failure)).isEqualTo(Reason.CHANNEL_CLOSED);
            assertThat(failure).hasMessageContaining("PRECONDITION_FAILED").hasMessageContaining(bad);
        }
        assertThat(ends.values()).containsOnlyNulls();
        assertThat(rabbit.drainIds("placed")).containsAll(ends.keySet()).doesNotContain("bad10", "bad60");
    }

    @Test
    void a_full_queue_nacks_what_it_does_not_take() {
        rabbit.topology(RabbitTopology.builder()
                .topicExchange("orders")
                .queue(RabbitQueue.named("placed"))
                .bind("placed", "orders", "placed")
                .queue(RabbitQueue.named("full").refuseBeyond(0))
                .bind("full", "orders", "full")
                .build());
        RabbitTransport transport = start(byType());

        Map<String, @Nullable Throwable> ends =
                endAll(transport, List.of(event("placed", "a"), event("full", "b"), event("placed", "c")));

        assertThat(ends.get("a")).isNull();
        assertThat(reasonOf(ends.get("b"))).isEqualTo(Reason.NACKED);
        assertThat(ends.get("c")).isNull();
    }

    @Test
    void what_the_client_cannot_send_is_given_up_and_the_tags_of_others_stay_right() {
        declareOrders();
        MessageFormat huge = event -> {
            RabbitMessage message = MessageFormat.CONTRACT.messageOf(event);
            return event.eventId().equals("huge")
                    ? RabbitMessage.of(
                            message.properties()
                                    .builder()
                                    .headers(Map.of("h", "x".repeat(200_000)))
                                    .build(),
                            message.body())
                    : message;
        };
        RabbitTransport transport = start(byType().format(huge));
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            events.add(event(i == 40 ? "lost" : "placed", i == 20 ? "huge" : "e" + i));
        }

        Map<String, @Nullable Throwable> ends = endAll(transport, events);

        assertThat(ends.remove("huge")).isInstanceOf(GiveUpException.class).hasMessageContaining("huge");
        assertThat(reasonOf(ends.remove("e40"))).isEqualTo(Reason.UNROUTABLE);
        assertThat(ends.values()).containsOnlyNulls();
        assertThat(rabbit.drainIds("placed")).hasSize(58).doesNotHaveDuplicates();
    }

    @Test
    void a_route_that_is_null_gives_up_and_one_that_throws_fails() {
        RabbitTransport none = start(
                RabbitTransport.builder().connectionFactory(rabbit.factory()).route(event -> null));
        RabbitTransport throwing = start(
                RabbitTransport.builder().connectionFactory(rabbit.factory()).route(event -> {
                    throw new IllegalStateException("no idea");
                }));

        assertThatThrownBy(() -> none.onEventAsync(event("placed", "a"))).isInstanceOf(GiveUpException.class);
        assertThatThrownBy(() -> throwing.onEventAsync(event("placed", "a"))).hasMessage("no idea");
    }

    @Test
    void a_closed_transport_puts_events_off_and_leaves_no_thread() {
        declareOrders();
        RabbitTransport transport = byType().name("leaver").channels(3).build();
        assertThat(end(transport, event("placed", "a"))).isNull();

        transport.close();
        transport.close();

        assertThat(end(transport, event("placed", "b")))
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        later -> assertThat(later.isCounted()).isFalse());
        assertThat(transport.health().isUp()).isFalse();
        assertThat(transport.health().trouble()).contains("closed");
        await().atMost(SECONDS)
                .untilAsserted(() -> assertThat(threadsOf("leaver")).isEmpty());
    }

    private static List<String> threadsOf(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(thread -> thread.startsWith("outbox-" + name + "-"))
                .toList();
    }

    @Test
    void a_broker_that_is_not_there_costs_no_attempt_opens_the_breaker_and_is_used_when_it_comes() throws Exception {
        declareOrders();
        var proxy = FaultProxy.to(rabbit.server().port());
        open.add(proxy);
        proxy.down();
        var factory = rabbit.factory();
        factory.setPort(proxy.port());
        CircuitBreaker breaker = CircuitBreaker.named("rabbit").build();
        RabbitTransport transport = start(RabbitTransport.builder()
                .connectionFactory(factory)
                .exchange("orders")
                .breaker(breaker));

        Throwable early = end(transport, event("placed", "early"));

        assertThat(early)
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        later -> assertThat(later.isCounted()).isFalse());
        assertThat(early).hasMessageContaining("cannot be reached");
        assertThat(breaker.state()).isEqualTo(CircuitBreaker.State.OPEN);
        assertThat(transport.health().connected()).isFalse();
        assertThat(transport.health().trouble()).contains("cannot be reached");

        proxy.up();
        await().atMost(Duration.ofSeconds(5)).until(() -> transport.health().isUp());
        assertThat(end(transport, event("placed", "later"))).isNull();
    }

    @Test
    void a_broker_that_is_not_there_or_goes_away_costs_an_attempt_if_outages_count() throws Exception {
        declareOrders();
        var proxy = FaultProxy.to(rabbit.server().port());
        open.add(proxy);
        var factory = rabbit.factory();
        factory.setPort(proxy.port());
        RabbitTransport transport = start(RabbitTransport.builder()
                .connectionFactory(factory)
                .exchange("orders")
                .confirmTimeout(Duration.ofSeconds(2))
                .countOutages(true));

        proxy.blackhole(FaultProxy.Direction.TO_CLIENT);
        Throwable unconfirmed = end(transport, event("placed", "unconfirmed"));
        proxy.heal();
        proxy.down();
        Throwable away = end(transport, event("placed", "away"));

        assertThat(unconfirmed)
                .isInstanceOf(OutboxException.class)
                .isNotInstanceOf(RetryLaterException.class)
                .hasMessageContaining("unconfirmed");
        assertThat(away)
                .isInstanceOf(OutboxException.class)
                .isNotInstanceOf(RetryLaterException.class)
                .hasMessageContaining("away");

        transport.close(); // closing the transport is not an outage
        assertUncounted(end(transport, event("placed", "closed")));
    }

    @Test
    void a_broker_that_falls_silent_puts_events_off_in_time() {
        declareOrders();
        var proxy = FaultProxy.to(rabbit.server().port());
        open.add(proxy);
        var factory = rabbit.factory();
        factory.setPort(proxy.port());
        RabbitTransport transport = start(RabbitTransport.builder()
                .connectionFactory(factory)
                .exchange("orders")
                .confirmTimeout(Duration.ofSeconds(1))
                .drainTime(Duration.ZERO));
        assertThat(end(transport, event("placed", "a"))).isNull();
        proxy.blackhole(FaultProxy.Direction.TO_CLIENT);

        Throwable failure = end(transport, event("placed", "b"));

        assertThat(failure)
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        later -> assertThat(later.isCounted()).isFalse());
        assertThat(failure).hasMessageContaining("did not confirm within PT1S");
        proxy.heal();
        await().atMost(SECONDS).until(() -> end(transport, event("placed", "c")) == null);
    }

    @Test
    void a_broker_that_does_not_read_while_its_heartbeats_fail_is_left_and_used_again_when_it_is_back() {
        var factory = rabbit.factory();
        factory.setRequestedHeartbeat(1);
        stopsReading(byType().connectionFactory(factory).stuck(Duration.ofMinutes(1)));
    }

    @Test
    void a_broker_that_does_not_read_for_long_is_left_and_used_again_when_it_is_back() {
        stopsReading(byType().stuck(Duration.ofSeconds(1)));
    }

    private void stopsReading(RabbitTransport.Builder settings) {
        declareOrders();
        RabbitTransport transport = start(settings.drainTime(Duration.ZERO));
        assertThat(end(transport, event("placed", "a"))).isNull();
        List<CompletableFuture<?>> stages = new ArrayList<>();

        rabbit.server().freeze();
        try {
            String large = "\"" + "x".repeat(65_536) + "\"";
            for (int i = 0; i < 400; i++) { // more than the socket buffers hold
                EventEnvelope event = EventEnvelope.builder("placed")
                        .eventId("large" + i)
                        .payloadJson(large)
                        .build();
                stages.add(transport.onEventAsync(event).toCompletableFuture());
            }

            await().atMost(Duration.ofSeconds(15))
                    .until(() -> !transport.health().connected()
                            && transport.health().inFlight() == 0);
            stages.forEach(stage -> assertUncounted(end(stage)));
        } finally {
            rabbit.server().resume();
        }

        await().atMost(SECONDS).until(() -> end(transport, event("placed", "b")) == null);
    }

    private static void assertUncounted(@Nullable Throwable failure) {
        assertThat(failure)
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        later -> assertThat(later.isCounted()).isFalse());
    }

    @Test
    void an_event_that_is_never_confirmed_is_published_again_and_holds_up_no_other() {
        rabbit.topology(RabbitTopology.builder()
                .topicExchange("orders")
                .queue(RabbitQueue.named("placed"))
                .bind("placed", "orders", "placed")
                .queue(RabbitQueue.named("asleep"))
                .bind("asleep", "orders", "asleep")
                .build());
        RabbitTransport transport = start(byType().confirmTimeout(Duration.ofSeconds(1)));
        queueProcess("asleep", "suspend");
        try {
            assertThat(end(transport, event("asleep", "a"))).hasMessageContaining("did not confirm");

            await().atMost(SECONDS).until(() -> {
                Throwable again = end(transport, event("asleep", "a"));
                return String.valueOf(again).contains("did not confirm"); // the event was sent
            });
            await().atMost(SECONDS).until(() -> end(transport, event("placed", "b")) == null);
            assertThat(transport.health().connected()).isTrue();
        } finally {
            queueProcess("asleep", "resume");
        }
        await().atMost(SECONDS).until(() -> end(transport, event("asleep", "a")) == null);
        assertThat(rabbit.drainIds("asleep")).hasSizeGreaterThan(2).containsOnly("a");
    }

    private void queueProcess(String queue, String what) {
        rabbit.server()
                .control(
                        "eval",
                        "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"%s\">>, queue, <<\"%s\">>)), sys:%s(amqqueue:get_pid(Q))."
                                .formatted(rabbit.virtualHost(), queue, what));
    }

    @Test
    void a_failure_inside_the_client_is_not_the_fault_of_an_event() {
        declareOrders();
        var proxy = FaultProxy.to(rabbit.server().port());
        open.add(proxy);
        proxy.latency(Duration.ofMillis(100)); // so that the failure happens before the ack
        var failures = new ConcurrentLinkedQueue<Throwable>();
        var factory = rabbit.factory();
        factory.setPort(proxy.port());
        factory.setMetricsCollector(new NoOpMetricsCollector() {
            @Override
            public void basicPublish(Channel channel) {
                Throwable failure = failures.poll();
                if (failure instanceof Error e) {
                    throw e;
                } else if (failure instanceof RuntimeException e) {
                    throw e;
                }
            }
        });
        RabbitTransport transport = start(byType().connectionFactory(factory));

        failures.add(new OutOfMemoryError("of a test"));
        assertUncounted(end(transport, event("placed", "a")));
        await().atMost(SECONDS).until(() -> end(transport, event("placed", "a")) == null);

        failures.add(new IllegalStateException("of a test"));
        assertUncounted(end(transport, event("placed", "b")));
        await().atMost(SECONDS).until(() -> end(transport, event("placed", "b")) == null);
    }

    @Test
    void a_breaker_that_fails_does_not_keep_the_transport_from_connecting_again() {
        declareOrders();
        var proxy = FaultProxy.to(rabbit.server().port());
        open.add(proxy);
        var factory = rabbit.factory();
        factory.setPort(proxy.port());
        AtomicBoolean broken = new AtomicBoolean();
        CircuitBreaker breaker = CircuitBreaker.named("rabbit")
                .clock(() -> {
                    if (broken.get()) {
                        throw new IllegalStateException("of a test");
                    }
                    return System.nanoTime();
                })
                .build();
        RabbitTransport transport = start(byType().connectionFactory(factory).breaker(breaker));
        broken.set(true);

        proxy.cutAll();

        await().atMost(SECONDS).until(() -> end(transport, event("placed", "a")) == null);
    }

    @Test
    void a_missing_exchange_is_not_asked_for_with_every_event() {
        declareOrders();
        AtomicInteger channels = new AtomicInteger();
        var factory = rabbit.factory();
        factory.setMetricsCollector(new NoOpMetricsCollector() {
            @Override
            public void newChannel(Channel channel) {
                channels.incrementAndGet();
            }
        });
        RabbitTransport transport = start(byName().connectionFactory(factory));
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            events.add(event("nowhere/placed", "e" + i));
        }

        endAll(transport, events)
                .values()
                .forEach(failure -> assertThat(reasonOf(failure)).isEqualTo(Reason.NO_EXCHANGE));

        assertThat(channels).hasValueLessThan(20);
        rabbit.call(channel -> channel.exchangeDeclare("nowhere", BuiltinExchangeType.FANOUT));
        rabbit.call(channel -> channel.queueBind("placed", "nowhere", ""));
        await().atMost(SECONDS).until(() -> end(transport, event("nowhere/placed", "later")) == null);
    }

    @Test
    void a_wrong_password_is_refused_at_the_start() {
        var factory = rabbit.factory();
        factory.setPassword("wrong");

        assertThatThrownBy(() -> RabbitTransport.builder()
                        .name("refused")
                        .connectionFactory(factory)
                        .exchange("orders")
                        .build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("refuses the user");
        await().atMost(SECONDS)
                .untilAsserted(() -> assertThat(threadsOf("refused")).isEmpty());
    }

    @Test
    void a_broker_without_confirms_is_refused_at_the_start() throws Exception {
        try (var broker = new BrokerWithoutConfirms()) {
            var factory = rabbit.factory();
            factory.setPort(broker.port());

            assertThatThrownBy(() -> RabbitTransport.builder()
                            .connectionFactory(factory)
                            .exchange("orders")
                            .build())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("publisher_confirms");
        }
    }

    @Test
    void wrong_settings_are_refused() {
        RabbitTransport.Builder both = RabbitTransport.builder()
                .connectionFactory(rabbit.factory())
                .exchange("orders")
                .countOutages(true)
                .breaker(CircuitBreaker.named("rabbit").build());
        assertThatThrownBy(both::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("breaker");
        assertThatThrownBy(() -> RabbitTransport.builder().exchange("x").build())
                .hasMessageContaining("connectionFactory");
        assertThatThrownBy(() -> RabbitTransport.builder()
                        .connectionFactory(rabbit.factory())
                        .build())
                .hasMessageContaining("exchange or a route");
        assertThatThrownBy(() -> byName().exchange("x").build()).hasMessageContaining("either route");
        assertThatThrownBy(() -> byType().channels(0)).hasMessageContaining("channels");
        assertThatThrownBy(() -> byType().maxInFlight(10_001)).hasMessageContaining("maxInFlight");
        assertThatThrownBy(() -> byType().confirmTimeout(Duration.ZERO)).hasMessageContaining("confirmTimeout");
        assertThatThrownBy(() -> new RabbitRoute("x".repeat(256), "")).hasMessageContaining("255");
    }
}
