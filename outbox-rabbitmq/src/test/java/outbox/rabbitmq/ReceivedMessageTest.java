package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class ReceivedMessageTest {

    private static final BasicProperties PLAIN = new BasicProperties();

    @Test
    void the_contract_is_read_and_the_payload_stays_as_it_is() {
        ReceivedMessage message = parse(PLAIN, """
                { "payload" : {"b":1, "a":1.50, "a2":"\\u00e9"} , "eventId":"e1", "eventType":"ORDER_CREATED", "aggregateType":"Order",
                  "aggregateId":900001, "occurredAt":"2026-02-04T10:30:00Z", "traceId":"trace-1", "more":[1,{"x":2}] }""");

        assertThat(message.eventId()).isEqualTo("e1");
        assertThat(message.eventType()).isEqualTo("ORDER_CREATED");
        assertThat(message.aggregateType()).contains("Order");
        assertThat(message.aggregateId()).contains("900001");
        assertThat(message.occurredAt()).contains(Instant.parse("2026-02-04T10:30:00Z"));
        assertThat(message.traceId()).contains("trace-1");
        assertThat(message.payload()).isEqualTo("{\"b\":1, \"a\":1.50, \"a2\":\"\\u00e9\"}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"a text\"", "12.50", "true", "null", "[1, 2]", "{}", "-7", "\"\""})
    void a_payload_may_be_any_value(String value) {
        String last = "{\"eventId\":\"e\",\"eventType\":\"T\",\"payload\":" + value + "}";
        String first = "{\"payload\":" + value + " , \"eventId\":\"e\",\"eventType\":\"T\"}";

        assertThat(parse(PLAIN, last).payload()).isEqualTo(value);
        assertThat(parse(PLAIN, first).payload()).isEqualTo(value);
    }

    @Test
    void a_large_payload_stays_as_it_is() {
        String value = "{\"text\":\"" + "äx".repeat(300_000) + "\"}";

        assertThat(parse(PLAIN, "{\"eventId\":\"e\",\"eventType\":\"T\",\"payload\":" + value + "}")
                        .payload())
                .isEqualTo(value);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cloudEvents_", "cloudEvents:"})
    void a_cloud_event_in_binary_mode_is_read(String prefix) {
        BasicProperties properties = new BasicProperties.Builder()
                .headers(Map.of(
                        prefix + "specversion",
                        "1.0",
                        prefix + "id",
                        "e1",
                        prefix + "type",
                        "OrderCreated",
                        prefix + "subject",
                        "Order/900001",
                        prefix + "time",
                        "2026-02-04T10:30:00+01:00",
                        "traceparent",
                        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                        "x-outbox-redeliveries",
                        2))
                .build();

        ReceivedMessage message = parse(properties, "not JSON at all");

        assertThat(message.eventId()).isEqualTo("e1");
        assertThat(message.eventType()).isEqualTo("OrderCreated");
        assertThat(message.aggregateType()).contains("Order");
        assertThat(message.aggregateId()).contains("900001");
        assertThat(message.occurredAt()).contains(Instant.parse("2026-02-04T09:30:00Z"));
        assertThat(message.traceId()).contains("0af7651916cd43dd8448eb211c80319c");
        assertThat(message.payload()).isEqualTo("not JSON at all");
        assertThat(message.redeliveries()).isEqualTo(2);
    }

    @Test
    void a_cloud_event_in_structured_mode_is_read() {
        BasicProperties properties = new BasicProperties.Builder()
                .contentType("application/cloudevents+json; charset=utf-8")
                .build();

        assertThat(parse(properties, "{\"specversion\":\"1.0\",\"id\":\"e1\",\"type\":\"T\",\"data\":{\"a\": 1}}")
                        .payload())
                .isEqualTo("{\"a\": 1}");
        assertThat(parse(properties, "{\"id\":\"e1\",\"type\":\"T\",\"data_base64\":\"AQI=\"}")
                        .payloadBytes())
                .containsExactly(1, 2);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "null",
                "{",
                "{\"eventId\":\"e\",\"eventType\":\"T\"}",
                "{\"eventType\":\"T\",\"payload\":1}",
                "{\"eventId\":\"\",\"eventType\":\"T\",\"payload\":1}",
                "{\"eventId\":\"e\",\"payload\":1}",
                "{\"eventId\":{},\"eventType\":\"T\",\"payload\":1}",
                "{\"eventId\":\"e\",\"eventId\":\"f\",\"eventType\":\"T\",\"payload\":1}",
                "{\"eventId\":\"e\",\"eventType\":\"T\",\"payload\":1} 2",
                "{\"eventId\":\"e\",\"eventType\":\"T\",\"payload\":1,\"occurredAt\":\"yesterday\"}"
            })
    void what_is_not_an_event_is_unrecoverable(String body) {
        assertThatThrownBy(() -> parse(PLAIN, body)).isInstanceOf(UnrecoverableMessageException.class);
    }

    @Test
    void what_is_not_text_is_unrecoverable() {
        assertThatThrownBy(() -> ReceivedMessage.parse(PLAIN, new byte[] {(byte) 0xff, (byte) 0xfe}))
                .isInstanceOf(UnrecoverableMessageException.class);
    }

    @Test
    void what_the_transport_sends_is_read_in_both_formats() {
        EventEnvelope event = EventEnvelope.builder("ORDER_PAID")
                .aggregateType("Order")
                .aggregateId("900001")
                .payloadJson("{\"amount\": 88.50}")
                .build();

        for (MessageFormat format : List.of(MessageFormat.CONTRACT, MessageFormat.CLOUD_EVENTS)) {
            RabbitMessage sent = format.messageOf(event);
            ReceivedMessage received = ReceivedMessage.parse(sent.properties(), sent.body());

            assertThat(received.eventId()).isEqualTo(event.eventId());
            assertThat(received.eventType()).isEqualTo("ORDER_PAID");
            assertThat(received.aggregateType()).contains("Order");
            assertThat(received.aggregateId()).contains("900001");
            assertThat(received.occurredAt()).contains(event.occurredAt());
            assertThat(received.payload()).isEqualTo("{\"amount\": 88.50}");
        }
    }

    private static ReceivedMessage parse(BasicProperties properties, String body) {
        return ReceivedMessage.parse(properties, body.getBytes(StandardCharsets.UTF_8));
    }
}
