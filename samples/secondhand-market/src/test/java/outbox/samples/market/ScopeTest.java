package outbox.samples.market;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.GetResponse;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Section 16 of the specification, line by line, except for the time-out, which {@link TimeoutTest} covers. */
@Timeout(120)
@Tag("mariadb")
@Tag("rabbitmq")
class ScopeTest {

    private static Market market;
    private static LogTap log;
    private static LogTap library;

    @BeforeAll
    static void start() {
        market = Market.start(); // configures logging anew
        log = new LogTap();
        library = new LogTap("outbox.rabbitmq");
    }

    @AfterAll
    static void stop() {
        market.close();
        log.close();
        library.close();
    }

    // ---- 16.1 RabbitMQ ----

    @Test
    void line_16_1_1_exchange_queues_and_bindings_are_those_of_section_4() {
        JsonNode exchange = market.management("exchanges/{vhost}/" + MarketTopology.EXCHANGE);
        assertThat(exchange.path("type").asString()).isEqualTo("topic");
        assertThat(exchange.path("durable").asBoolean()).isTrue();

        for (String queue : List.of(
                "order.timeout.queue",
                "inventory.update.queue",
                "order.fulfillment.queue",
                "order.status.sync.queue")) {
            assertThat(arguments(queue))
                    .isEqualTo(Map.of(
                            "x-dead-letter-exchange", "order.events.exchange",
                            "x-dead-letter-routing-key", "order.dlq"));
        }
        assertThat(arguments("order.timeout.delay.queue"))
                .isEqualTo(Map.of(
                        "x-message-ttl", "900000",
                        "x-dead-letter-exchange", "order.events.exchange",
                        "x-dead-letter-routing-key", "order.timeout"));
        assertThat(arguments("order.dlq.queue")).isEmpty();

        assertThat(bindings())
                .contains(
                        "order.created -> inventory.update.queue",
                        "order.paid -> order.fulfillment.queue",
                        "order.status.changed -> order.status.sync.queue",
                        "order.timeout -> order.timeout.queue",
                        "order.timeout.delay -> order.timeout.delay.queue",
                        "order.dlq -> order.dlq.queue");
    }

    private static Map<String, String> arguments(String queue) {
        JsonNode found = market.management("queues/{vhost}/" + queue);
        assertThat(found.path("durable").asBoolean()).as(queue).isTrue();
        Map<String, String> arguments = new java.util.HashMap<>();
        found.path("arguments")
                .properties()
                .forEach(entry -> arguments.put(entry.getKey(), entry.getValue().asString()));
        return arguments;
    }

    private static List<String> bindings() {
        List<String> found = new ArrayList<>();
        market.management("exchanges/{vhost}/order.events.exchange/bindings/source")
                .forEach(binding -> found.add(binding.path("routing_key").asString() + " -> "
                        + binding.path("destination").asString()));
        return found;
    }

    @Test
    void line_16_1_2_an_order_writes_an_event_and_its_message_has_the_contract_of_section_6() throws Exception {
        try (Spy spy = new Spy(market)) {
            JsonNode order = market.order();
            long id = order.path("id").asLong();

            awaitSent(id, OrderEvent.ORDER_CREATED);
            JsonNode event = market.event(id, OrderEvent.ORDER_CREATED);
            String eventId = event.path("eventId").asString();
            GetResponse sent = await().atMost(Market.SOON).until(() -> spy.next(eventId), found -> found != null);

            assertThat(sent.getEnvelope().getRoutingKey()).isEqualTo("order.created");
            assertThat(sent.getProps().getMessageId()).isEqualTo(eventId);
            assertThat(sent.getProps().getDeliveryMode()).isEqualTo(2);
            JsonNode message = Market.JSON.readTree(sent.getBody());
            assertThat(message.propertyNames())
                    .containsExactlyInAnyOrder(
                            "eventId", "eventType", "aggregateType", "aggregateId", "occurredAt", "traceId", "payload");
            assertThat(UUID.fromString(message.path("eventId").asString())).hasToString(eventId);
            assertThat(message.path("eventType").asString()).isEqualTo("ORDER_CREATED");
            assertThat(message.path("aggregateType").asString()).isEqualTo("Order");
            assertThat(message.path("aggregateId").isNumber()).isTrue();
            assertThat(message.path("aggregateId").asLong()).isEqualTo(id);
            assertThat(message.path("occurredAt").asString())
                    .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z");
            assertThat(message.path("traceId").asString())
                    .isEqualTo(event.path("traceId").asString())
                    .startsWith("trace-");
            assertThat(message.path("payload").propertyNames())
                    .containsExactlyInAnyOrder(
                            "orderId", "orderNo", "buyerId", "sellerId", "productId", "quantity", "price");
            assertThat(message.path("payload").path("orderId").asLong()).isEqualTo(id);
            assertThat(new String(sent.getBody(), StandardCharsets.UTF_8)).contains("\"price\":88.50");
        }
    }

    @Test
    void line_16_1_3_the_consumer_of_the_inventory_handles_the_message() {
        JsonNode order = market.order();

        awaitConsumed(order.path("id").asLong(), OrderEvent.ORDER_CREATED, "inventory-update");
        assertThat(timesOrdered(order)).isEqualTo(1);
    }

    // ---- 16.2 flows ----

    @Test
    void line_16_2_1_a_payment_begins_the_shipment() throws Exception {
        long id = market.order().path("id").asLong();
        try (Spy spy = new Spy(market)) {
            assertThat(market.post("/api/orders/" + id + "/pay")
                            .body()
                            .path("status")
                            .asString())
                    .isEqualTo("paid");

            awaitConsumed(id, OrderEvent.ORDER_PAID, "order-fulfillment");
            assertThat(market.count("SELECT COUNT(*) FROM shipments WHERE order_id = ?", id))
                    .isEqualTo(1);
            assertThat(payload(spy, id, OrderEvent.ORDER_PAID, "order.paid"))
                    .containsExactlyInAnyOrder("orderId", "orderNo", "payTime", "amount");
        }
    }

    @Test
    void line_16_2_2_a_change_of_status_is_synchronised_and_notified() throws Exception {
        long id = market.order().path("id").asLong();
        try (Spy spy = new Spy(market)) {
            market.post("/api/orders/" + id + "/pay");
            assertThat(market.post("/api/orders/" + id + "/ship").status()).isEqualTo(200);
            assertThat(market.post("/api/orders/" + id + "/complete").status()).isEqualTo(200);

            await().atMost(Market.SOON)
                    .untilAsserted(() -> assertThat(market.database()
                                    .sql("SELECT text FROM notifications WHERE order_id = ?")
                                    .param(id)
                                    .query(String.class)
                                    .list())
                            .hasSize(4)
                            .anyMatch(text -> text.endsWith("paid -> shipped"))
                            .anyMatch(text -> text.endsWith("shipped -> completed")));
            assertThat(payload(spy, id, OrderEvent.ORDER_STATUS_CHANGED, "order.status.changed"))
                    .containsExactlyInAnyOrder("orderId", "orderNo", "oldStatus", "newStatus", "changedAt");
        }
    }

    private static List<String> payload(Spy spy, long order, OrderEvent type, String routingKey) throws Exception {
        String eventId = market.event(order, type).path("eventId").asString();
        GetResponse sent = await().atMost(Market.SOON).until(() -> spy.next(eventId), found -> found != null);
        assertThat(sent.getEnvelope().getRoutingKey()).isEqualTo(routingKey);
        return List.copyOf(Market.JSON.readTree(sent.getBody()).path("payload").propertyNames());
    }

    // ---- 16.3 transactions ----

    @Test
    void line_16_3_1_a_transaction_that_fails_sends_nothing() throws Exception {
        long product = market.offer();
        long buyer = 77_001;
        // The database refuses the second event of the order, after the order and its first event were written.
        market.database().sql("""
                        CREATE TRIGGER refuse BEFORE INSERT ON outbox_events FOR EACH ROW
                        IF NEW.event_type = 'ORDER_TIMEOUT' THEN SIGNAL SQLSTATE '45000'; END IF
                        """).update();
        long rows = market.count("SELECT COUNT(*) FROM outbox_events");
        try (Spy spy = new Spy(market)) {
            Market.Answer refused;
            try {
                refused = market.order(product, buyer);
            } finally {
                market.database().sql("DROP TRIGGER refuse").update();
            }

            assertThat(refused.status()).isEqualTo(500);
            assertThat(refused.contentType()).isEqualTo("application/problem+json");
            assertThat(market.productStatus(product)).isEqualTo("on_sale");
            assertThat(market.count("SELECT COUNT(*) FROM orders WHERE buyer_id = ?", buyer))
                    .isZero();
            assertThat(market.count("SELECT COUNT(*) FROM outbox_events")).isEqualTo(rows);

            JsonNode next = market.order(product, buyer).body(); // when this one is sent, all earlier ones are sent
            String eventId = market.event(next.path("id").asLong(), OrderEvent.ORDER_CREATED)
                    .path("eventId")
                    .asString();
            GetResponse first = await().atMost(Market.SOON)
                    .until(() -> spy.next("\"productId\":" + product + ","), found -> found != null);
            assertThat(first.getProps().getMessageId()).isEqualTo(eventId);
            assertThat(spy.next("\"productId\":" + product + ",")).isNull();
        }
    }

    @Test
    void line_16_3_2_every_transaction_that_succeeds_has_its_events() {
        market.database().sql("""
                        CREATE TRIGGER only_new BEFORE INSERT ON outbox_events FOR EACH ROW
                        IF NEW.status <> 'NEW' THEN SIGNAL SQLSTATE '45000'; END IF
                        """).update();
        long id;
        try {
            id = market.order().path("id").asLong();
            for (String step : List.of("pay", "ship", "complete")) {
                assertThat(market.post("/api/orders/" + id + "/" + step).status())
                        .isEqualTo(200);
            }
        } finally {
            market.database().sql("DROP TRIGGER only_new").update();
        }

        List<String> types = new ArrayList<>();
        market.get("/api/orders/" + id + "/events")
                .body()
                .forEach(event -> types.add(event.path("eventType").asString()));
        assertThat(types)
                .containsExactly(
                        "ORDER_CREATED", "ORDER_TIMEOUT", "ORDER_PAID", "ORDER_STATUS_CHANGED", "ORDER_STATUS_CHANGED");
        await().atMost(Market.SOON)
                .untilAsserted(() -> assertThat(
                                market.get("/api/orders/" + id + "/events").body())
                        .allMatch(event -> event.path("status").asString().equals("SENT")));
    }

    @Test
    void line_16_3_3_an_event_that_cannot_be_sent_is_retried_and_then_failed_with_an_alarm() throws Exception {
        long lucky = market.order().path("id").asLong();
        long unlucky = market.order().path("id").asLong();
        try (Spy spy = new Spy(market).blind()) {
            spy.channel().queueUnbind("order.fulfillment.queue", MarketTopology.EXCHANGE, "order.paid");
            JsonNode retried;
            try {
                market.post("/api/orders/" + lucky + "/pay");
                retried = await().atMost(Market.SOON)
                        .until(
                                () -> market.event(lucky, OrderEvent.ORDER_PAID),
                                event -> event.path("status").asString().equals("RETRY"));
            } finally { // long before the last attempt
                spy.channel().queueBind("order.fulfillment.queue", MarketTopology.EXCHANGE, "order.paid");
            }
            assertThat(retried.path("retryCount").asInt()).isPositive();
            assertThat(retried.path("nextRetryTime").isNull()).isFalse();
            awaitConsumed(lucky, OrderEvent.ORDER_PAID, "order-fulfillment");

            spy.channel().queueUnbind("order.fulfillment.queue", MarketTopology.EXCHANGE, "order.paid");
            try {
                market.post("/api/orders/" + unlucky + "/pay");
                await().atMost(Market.SOON)
                        .until(() -> market.event(unlucky, OrderEvent.ORDER_PAID)
                                .path("status")
                                .asString()
                                .equals("FAILED"));
            } finally {
                spy.channel().queueBind("order.fulfillment.queue", MarketTopology.EXCHANGE, "order.paid");
            }
        }
        JsonNode failed = market.event(unlucky, OrderEvent.ORDER_PAID);
        assertThat(failed.path("retryCount").asInt()).isEqualTo(4); // three retries, and one more failure
        assertThat(market.statusOf(unlucky)).isEqualTo("paid"); // the business is not affected
        ILoggingEvent alarm = log.one(Level.ERROR, failed.path("eventId").asString());
        assertThat(alarm.getFormattedMessage())
                .startsWith(Texts.SEND_FAILED)
                .contains("FAILED after 4 attempts", "312 NO_ROUTE"); // the reason
        assertThat(alarm.getMDCPropertyMap())
                .containsEntry("eventId", failed.path("eventId").asString())
                .containsEntry("traceId", failed.path("traceId").asString())
                .containsEntry("queue", "order.fulfillment.queue")
                .containsEntry("consumer", "outbox-relay");
        await().atMost(Market.SOON)
                .untilAsserted(
                        () -> assertThat(market.get("/actuator/prometheus").text())
                                .containsPattern("outbox_dead_total\\{[^}]*topic=\"ORDER_PAID\"[^}]*} 1\\.0"));
    }

    // ---- 16.4 reliability ----

    @Test
    void line_16_4_1_a_message_that_comes_twice_is_handled_once() throws Exception {
        try (Spy spy = new Spy(market)) {
            JsonNode order = market.order();
            long id = order.path("id").asLong();
            awaitConsumed(id, OrderEvent.ORDER_CREATED, "inventory-update");
            JsonNode event = market.event(id, OrderEvent.ORDER_CREATED);
            String eventId = event.path("eventId").asString();
            String traceId = event.path("traceId").asString();
            GetResponse sent = await().atMost(Market.SOON).until(() -> spy.next(eventId), found -> found != null);

            double before = consumed("inventory-update", "duplicate");

            for (int copy = 0; copy < 5; copy++) {
                spy.publish("order.created", sent.getProps(), new String(sent.getBody(), StandardCharsets.UTF_8));
            }

            await().atMost(Market.SOON)
                    .untilAsserted(() -> assertThat(log.all(Level.INFO, eventId))
                            .filteredOn(line -> line.getFormattedMessage().startsWith(Texts.DUPLICATE))
                            .hasSize(5)
                            .allSatisfy(line -> assertThat(line.getMDCPropertyMap())
                                    .containsEntry("eventId", eventId)
                                    .containsEntry("queue", "inventory.update.queue")
                                    .containsEntry("consumer", "inventory-update")
                                    .containsEntry("traceId", traceId)));
            await().atMost(Market.SOON)
                    .untilAsserted(() -> assertThat(consumed("inventory-update", "duplicate"))
                            .isEqualTo(before + 5));
            assertThat(timesOrdered(order)).isEqualTo(1);
            assertThat(market.count("SELECT COUNT(*) FROM event_consume_log WHERE event_id = ?", eventId))
                    .isEqualTo(1);
        }
    }

    @Test
    void line_16_4_2_what_cannot_be_handled_goes_to_the_dead_letters_with_its_reason() throws Exception {
        long id = market.order().path("id").asLong();
        String type = UUID.randomUUID().toString();
        String data = UUID.randomUUID().toString();
        String missing = UUID.randomUUID().toString();
        String other = UUID.randomUUID().toString();
        String order = UUID.randomUUID().toString();
        double deadBefore = consumed("inventory-update", "dead");
        try (Spy spy = new Spy(market)) {
            send(spy, "order.created", message(type, "ORDER_EATEN", id, created(id)));
            send(spy, "order.created", message(data, "ORDER_CREATED", id, created(id + 1)));
            send(
                    spy,
                    "order.created",
                    message(missing, "ORDER_CREATED", id, created(id).replace("\"sellerId\":2", "\"sellerId\":null")));
            send(
                    spy,
                    "order.created",
                    message(other, "ORDER_CREATED", id, created(id)).replace("\"Order\"", "\"Product\""));
            send(spy, "order.paid", message(order, "ORDER_PAID", 999_999_999, paid(999_999_999)));
        }

        await().atMost(Market.SOON).untilAsserted(() -> {
            assertThat(deadLetters()).containsKeys(type, data, missing, other, order);
            assertThat(reason(type)).contains(Texts.UNSUPPORTED_TYPE);
            assertThat(reason(data)).contains(Texts.CONSUME_FAILED, "payload.orderId");
            assertThat(reason(missing)).contains(Texts.CONSUME_FAILED, "payload.sellerId");
            assertThat(reason(other)).contains(Texts.CONSUME_FAILED, "aggregateType");
            assertThat(reason(order)).contains(Texts.CONSUME_FAILED, "no order");
            assertThat(consumed("inventory-update", "dead")).isEqualTo(deadBefore + 4);
        });
        assertThat(log.all(Level.WARN, type))
                .anySatisfy(line -> assertThat(line.getMDCPropertyMap())
                        .containsEntry("eventId", type)
                        .containsEntry("queue", "inventory.update.queue")
                        .containsEntry("consumer", "inventory-update")
                        .containsEntry("traceId", "trace-test"));
        assertThat(market.count(
                        "SELECT COUNT(*) FROM event_consume_log WHERE event_id IN (?, ?, ?, ?, ?)",
                        type,
                        data,
                        missing,
                        other,
                        order))
                .isZero();
    }

    @Test
    void section_12_more_than_1000_messages_in_a_queue_raise_an_alarm() throws Exception {
        try (Spy spy = new Spy(market).blind()) {
            try {
                for (int i = 0; i < 1001; i++) { // nobody consumes from this queue
                    spy.channel().basicPublish("", MarketTopology.TIMEOUT_DELAY_QUEUE, null, new byte[0]);
                }

                await().atMost(Market.SOON)
                        .untilAsserted(() -> assertThat(log.all(Level.WARN, MarketTopology.TIMEOUT_DELAY_QUEUE))
                                .anySatisfy(line ->
                                        assertThat(line.getFormattedMessage()).endsWith("more than 1000")));
            } finally {
                spy.channel().queuePurge(MarketTopology.TIMEOUT_DELAY_QUEUE);
            }
        }
    }

    @Test
    void line_16_4_3_dead_letters_raise_an_alarm_and_can_be_replayed() {
        long id = market.order().path("id").asLong();
        market.post("/api/orders/" + id + "/pay");
        awaitConsumed(id, OrderEvent.ORDER_PAID, "order-fulfillment");
        double redeliveredBefore = consumed("order-status-sync", "redelivered");
        double deadBefore = consumed("order-status-sync", "dead");
        double handledBefore = consumed("order-status-sync", "handled");
        market.database()
                .sql("RENAME TABLE notifications TO notifications_away")
                .update();
        String eventId;
        try {
            market.post("/api/orders/" + id + "/ship");
            eventId = market.event(id, OrderEvent.ORDER_STATUS_CHANGED)
                    .path("eventId")
                    .asString();
            String dead = eventId;
            await().atMost(Market.SOON)
                    .untilAsserted(() -> assertThat(deadLetters()).containsKey(dead));
        } finally {
            market.database()
                    .sql("RENAME TABLE notifications_away TO notifications")
                    .update();
        }
        assertThat(market.count("SELECT COUNT(*) FROM event_consume_log WHERE event_id = ?", eventId))
                .isZero();
        JsonNode letter = Objects.requireNonNull(deadLetters().get(eventId));
        assertThat(letter.path("reason").asString()).isEqualTo("rejected");
        assertThat(reason(eventId)).contains("Failed after 3 redeliveries", "notifications");
        assertThat(letter.path("queue").asString()).isEqualTo("order.status.sync.queue");
        assertThat(ApiTest.fields(market, "DeadLetter")).hasSameElementsAs(letter.propertyNames());
        await().atMost(Market.SOON).untilAsserted(() -> {
            assertThat(consumed("order-status-sync", "redelivered")).isEqualTo(redeliveredBefore + 3);
            assertThat(consumed("order-status-sync", "dead")).isEqualTo(deadBefore + 1);
        });
        await().atMost(Market.SOON).untilAsserted(() -> {
            assertThat(market.get("/actuator/prometheus").text())
                    .containsPattern("market_queue_messages\\{[^}]*queue=\"order.dlq.queue\"[^}]*} [1-9]");
            assertThat(log.all(Level.WARN, "order.dlq.queue")).isNotEmpty();
        });

        Market.Answer replayed = market.post("/api/dlq/replay", "{\"eventId\":\"" + eventId + "\"}");

        assertThat(replayed.status()).as(replayed.text()).isEqualTo(200);
        assertThat(replayed.body().path("replayed").asInt()).isEqualTo(1);
        awaitConsumed(id, OrderEvent.ORDER_STATUS_CHANGED, "order-status-sync");
        assertThat(market.count("SELECT COUNT(*) FROM notifications WHERE order_id = ?", id))
                .isEqualTo(2);
        assertThat(deadLetters()).doesNotContainKey(eventId);
        await().atMost(Market.SOON)
                .untilAsserted(() ->
                        assertThat(consumed("order-status-sync", "handled")).isEqualTo(handledBefore + 1));
    }

    // ---- additional tests ----

    @Test
    void section_6_the_literal_example_message_is_handled() throws Exception {
        JsonNode order = market.order();
        long id = order.path("id").asLong();
        awaitConsumed(id, OrderEvent.ORDER_CREATED, "inventory-update");
        String eventId = UUID.randomUUID().toString();
        try (Spy spy = new Spy(market)) {
            send(spy, "order.created", message(eventId, "ORDER_CREATED", id, """
                    "orderId": %d, "orderNo": "202602041030001234", "buyerId": 10001, "sellerId": 10002, \
                    "totalAmount": 88.50""".formatted(id)));
        }

        await().atMost(Market.SOON)
                .until(() -> market.count("SELECT COUNT(*) FROM event_consume_log WHERE event_id = ?", eventId) == 1);
        assertThat(timesOrdered(order)).isEqualTo(2);
    }

    @Test
    void section_9_2_a_failure_is_requeued_and_beyond_the_threshold_rejected_by_the_consumer() throws Exception {
        long id = market.order().path("id").asLong();
        market.database().sql("RENAME TABLE shipments TO shipments_away").update();
        String eventId;
        try {
            market.post("/api/orders/" + id + "/pay");
            eventId = market.event(id, OrderEvent.ORDER_PAID).path("eventId").asString();
            String dead = eventId;
            await().atMost(Market.SOON).until(() -> deadLetters().containsKey(dead));
        } finally {
            market.database().sql("RENAME TABLE shipments_away TO shipments").update();
        }

        // The message has no headers of a republished copy: the original message was rejected after
        // its fourth delivery.
        JsonNode letter = Objects.requireNonNull(deadLetters().get(eventId));
        assertThat(letter.path("reason").asString()).isEqualTo("rejected");
        assertThat(letter.path("queue").asString()).isEqualTo("order.fulfillment.queue");
        assertThat(log.all(Level.WARN, eventId))
                .filteredOn(line -> line.getFormattedMessage().startsWith(Texts.CONSUME_FAILED))
                .hasSize(4);
    }

    @Test
    void section_12_a_duplicate_shows_the_trace_of_its_message_and_the_library_fills_the_four_fields()
            throws Exception {
        long id = market.order().path("id").asLong();
        String twice = UUID.randomUUID().toString(); // not an event of this outbox
        String dead = UUID.randomUUID().toString();
        try (Spy spy = new Spy(market)) {
            send(spy, "order.timeout", message(twice, "ORDER_TIMEOUT", id, timeout(id)));
            send(spy, "order.timeout", message(twice, "ORDER_TIMEOUT", id, timeout(id)));
            send(spy, "order.timeout", message(dead, "ORDER_EATEN", id, timeout(id)));

            await().atMost(Market.SOON)
                    .untilAsserted(() -> assertThat(log.all(Level.INFO, twice))
                            .singleElement()
                            .satisfies(line -> assertFields(line, twice, "order.timeout.queue", "order-timeout")));
            await().atMost(Market.SOON)
                    .untilAsserted(() -> assertThat(library.all(Level.ERROR, dead))
                            .singleElement()
                            .satisfies(line -> assertFields(line, dead, "order.timeout.queue", "order-timeout")));
        }
    }

    private static void assertFields(ILoggingEvent line, String eventId, String queue, String consumer) {
        assertThat(line.getMDCPropertyMap())
                .containsEntry("eventId", eventId)
                .containsEntry("traceId", "trace-test")
                .containsEntry("queue", queue)
                .containsEntry("consumer", consumer);
    }

    @Test
    void an_event_of_no_known_type_is_failed_at_once_with_an_alarm() {
        String eventId = UUID.randomUUID().toString();
        market.database().sql("""
                        INSERT INTO outbox_events
                               (event_id, event_type, aggregate_type, aggregate_id, payload, status, retry_count, create_time, update_time)
                        VALUES (?, 'ORDER_EATEN', 'Order', 1, '{"orderId":1}', 'NEW', 0, UTC_TIMESTAMP, UTC_TIMESTAMP)
                        """).param(eventId).update();

        await().atMost(Market.SOON)
                .until(() -> market.count(
                                "SELECT COUNT(*) FROM outbox_events WHERE event_id = ? AND status = 'FAILED'", eventId)
                        == 1);
        ILoggingEvent alarm = log.one(Level.ERROR, eventId);
        assertThat(alarm.getFormattedMessage()).startsWith(Texts.SEND_FAILED).contains(Texts.UNSUPPORTED_TYPE);
        assertThat(alarm.getMDCPropertyMap()).containsEntry("eventId", eventId).containsEntry("queue", "ORDER_EATEN");
    }

    // ---- sections 10, 12 and 14 ----

    @Test
    void a_timeout_message_before_its_time_closes_nothing() throws Exception {
        long id = market.order().path("id").asLong();
        String early = UUID.randomUUID().toString();
        try (Spy spy = new Spy(market)) {
            send(spy, "order.timeout", message(early, "ORDER_TIMEOUT", id, timeout(id)));
        }

        await().atMost(Market.SOON)
                .until(() -> market.count("SELECT COUNT(*) FROM event_consume_log WHERE event_id = ?", early) == 1);
        assertThat(market.statusOf(id)).isEqualTo("pending");
    }

    @Test
    void the_two_tables_have_the_frozen_columns_and_no_other() {
        assertThat(columns("outbox_events"))
                .containsExactly(
                        "id bigint(20) NO PRI",
                        "event_id varchar(64) NO UNI",
                        "event_type varchar(64) NO ",
                        "aggregate_type varchar(64) NO MUL",
                        "aggregate_id bigint(20) NO ",
                        "payload text NO ",
                        "status varchar(16) NO MUL",
                        "retry_count int(11) NO ",
                        "next_retry_time datetime YES ",
                        "create_time datetime NO ",
                        "update_time datetime NO ");
        assertThat(columns("event_consume_log"))
                .containsExactly(
                        "id bigint(20) NO PRI",
                        "event_id varchar(64) NO UNI",
                        "event_type varchar(64) NO ",
                        "consumer varchar(64) NO ",
                        "consume_time datetime NO ");
    }

    private static List<String> columns(String table) {
        return market.database().sql("""
                        SELECT CONCAT_WS(' ', column_name, column_type, is_nullable, column_key)
                          FROM information_schema.columns
                         WHERE table_schema = DATABASE()
                           AND table_name = ?
                         ORDER BY ordinal_position
                        """).param(table).query(String.class).list();
    }

    // ---- shared by the tests ----

    private static void awaitSent(long order, OrderEvent type) {
        await().atMost(Market.SOON)
                .until(() -> market.event(order, type).path("status").asString().equals("SENT"));
    }

    private static void awaitConsumed(long order, OrderEvent type, String consumer) {
        await().atMost(Market.SOON)
                .until(() -> market.event(order, type)
                        .path("consumption")
                        .path("consumer")
                        .asString("")
                        .equals(consumer));
    }

    private static long timesOrdered(JsonNode order) {
        return market.count(
                "SELECT times_ordered FROM inventory_view WHERE product_id = ?",
                order.path("productId").asLong());
    }

    private static String message(String eventId, String type, long order, String payload) {
        return """
                {"eventId":"%s","eventType":"%s","aggregateType":"Order","aggregateId":%d,\
                "occurredAt":"2026-02-04T10:30:00Z","traceId":"trace-test","payload":{%s}}\
                """.formatted(eventId, type, order, payload);
    }

    private static String created(long order) {
        return "\"orderId\":" + order
                + ",\"orderNo\":\"1\",\"buyerId\":1,\"sellerId\":2,\"productId\":3,\"quantity\":1,\"price\":1.00";
    }

    private static String paid(long order) {
        return "\"orderId\":" + order + ",\"orderNo\":\"1\",\"payTime\":\"2026-02-04T10:30:00Z\",\"amount\":1.00";
    }

    private static String timeout(long order) {
        return "\"orderId\":" + order + ",\"orderNo\":\"1\",\"createTime\":\"2026-02-04T10:30:00Z\"";
    }

    private static void send(Spy spy, String routingKey, String body) throws Exception {
        spy.publish(routingKey, new BasicProperties.Builder().deliveryMode(2).build(), body);
    }

    /** Returns the value of {@code market_consumed_total}. */
    private static double consumed(String consumer, String result) {
        return market.get("/actuator/prometheus")
                .text()
                .lines()
                .filter(line -> line.startsWith("market_consumed_total{")
                        && line.contains("consumer=\"" + consumer + "\"")
                        && line.contains("result=\"" + result + "\""))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    /** Returns the reason for a rejected message from the log of the consumer, because a nack contains no reason. */
    private static String reason(String eventId) {
        List<ILoggingEvent> lines = library.all(Level.ERROR, eventId);
        return lines.isEmpty() ? "" : lines.get(0).getFormattedMessage();
    }

    private static Map<String, JsonNode> deadLetters() {
        Map<String, JsonNode> found = new java.util.HashMap<>();
        market.get("/api/dlq")
                .body()
                .forEach(letter -> found.put(letter.path("eventId").asString(), letter));
        return found;
    }
}
