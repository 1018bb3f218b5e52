package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.GiveUpException;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;

class MessageFormatTest {
    private static final Instant TIME = Instant.parse("2026-02-04T10:30:00Z");
    private static final String TRACE_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    private static EventEnvelope.Builder order() {
        return EventEnvelope.builder("ORDER_CREATED")
                .eventId("e-1")
                .occurredAt(TIME)
                .aggregateType("Order")
                .aggregateId("900001")
                .payloadJson("{\"orderId\":900001,\"totalAmount\":88.50}");
    }

    private static String body(RabbitMessage message) {
        return new String(message.body(), StandardCharsets.UTF_8);
    }

    @Test
    void the_contract_embeds_the_payload_as_it_is() {
        RabbitMessage message = MessageFormat.CONTRACT.messageOf(
                order().header("traceId", "trace-7").build());

        assertThat(body(message))
                .isEqualTo(
                        "{\"eventId\":\"e-1\",\"eventType\":\"ORDER_CREATED\",\"aggregateType\":\"Order\",\"aggregateId\":900001,"
                                + "\"occurredAt\":\"2026-02-04T10:30:00Z\",\"traceId\":\"trace-7\",\"payload\":{\"orderId\":900001,\"totalAmount\":88.50}}");
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "7, 7",
        "-7, -7",
        "123456789012345678, 123456789012345678",
        "1234567890123456789, '\"1234567890123456789\"'",
        "007, '\"007\"'",
        "-0, '\"-0\"'",
        "1.5, '\"1.5\"'",
        "A\"7, '\"A\\\"7\"'",
    })
    void an_aggregate_id_is_a_number_if_it_reads_back_the_same(String id, String json) {
        assertThat(body(MessageFormat.CONTRACT.messageOf(order().aggregateId(id).build())))
                .contains("\"aggregateId\":" + json + ",");
    }

    @Test
    void the_trace_id_is_that_of_the_trace_context_if_none_is_given_and_otherwise_null() {
        assertThat(body(MessageFormat.CONTRACT.messageOf(
                        order().header("traceparent", TRACE_PARENT).build())))
                .contains("\"traceId\":\"0af7651916cd43dd8448eb211c80319c\"");
        assertThat(body(MessageFormat.CONTRACT.messageOf(order().build()))).contains("\"traceId\":null");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "{", "{}}", "{} {}", "{\"a\":}", "plain", "{\"a\":1},\"eventId\":\"x\""})
    void a_payload_that_is_no_json_is_given_up(String payload) {
        EventEnvelope event = order().payloadJson(payload).build();

        assertThatThrownBy(() -> MessageFormat.CONTRACT.messageOf(event))
                .isInstanceOf(GiveUpException.class)
                .hasMessageContaining("e-1");
    }

    @Test
    void both_formats_carry_aggregate_correlation_and_trace_and_leave_out_what_is_the_brokers() {
        EventEnvelope event = order().tenantId("acme")
                .header("correlation-id", "c-9")
                .header("traceparent", TRACE_PARENT)
                .header("tracestate", "a=b")
                .header("region", "eu")
                .header("CC", "audit")
                .header("x-delay", "5")
                .build();

        for (MessageFormat format : new MessageFormat[] {MessageFormat.CONTRACT, MessageFormat.CLOUD_EVENTS}) {
            BasicProperties properties = format.messageOf(event).properties();
            assertThat(properties.getMessageId()).isEqualTo("e-1");
            assertThat(properties.getDeliveryMode()).isEqualTo(2);
            assertThat(properties.getType()).isEqualTo("ORDER_CREATED");
            assertThat(properties.getTimestamp()).isEqualTo(Date.from(TIME));
            assertThat(properties.getContentType()).isEqualTo("application/json");
            assertThat(properties.getCorrelationId()).isEqualTo("c-9");
            assertThat(properties.getHeaders())
                    .contains(
                            entry("outbox-aggregate-type", "Order"),
                            entry("outbox-aggregate-id", "900001"),
                            entry("outbox-tenant-id", "acme"),
                            entry("traceparent", TRACE_PARENT),
                            entry("tracestate", "a=b"),
                            entry("region", "eu"))
                    .doesNotContainKeys("CC", "x-delay");
        }
    }

    @Test
    void cloud_events_have_the_payload_as_body_and_the_attributes_as_headers() {
        RabbitMessage message = MessageFormat.cloudEvents(URI.create("/shop")).messageOf(order().build());

        assertThat(body(message)).isEqualTo("{\"orderId\":900001,\"totalAmount\":88.50}");
        assertThat(message.properties().getHeaders())
                .contains(
                        entry("cloudEvents_specversion", "1.0"),
                        entry("cloudEvents_id", "e-1"),
                        entry("cloudEvents_type", "ORDER_CREATED"),
                        entry("cloudEvents_source", "/shop"),
                        entry("cloudEvents_time", "2026-02-04T10:30:00Z"),
                        entry("cloudEvents_subject", "Order/900001"));
    }

    @Test
    void whatever_a_format_says_the_message_is_persistent_and_has_the_id_of_its_event() {
        RabbitMessage message = RabbitMessage.of(
                new BasicProperties.Builder()
                        .messageId("other")
                        .deliveryMode(1)
                        .appId("shop")
                        .build(),
                new byte[0]);

        BasicProperties properties = message.identifiedBy("e-1").properties();

        assertThat(properties.getMessageId()).isEqualTo("e-1");
        assertThat(properties.getDeliveryMode()).isEqualTo(2);
        assertThat(properties.getAppId()).isEqualTo("shop");
    }
}
