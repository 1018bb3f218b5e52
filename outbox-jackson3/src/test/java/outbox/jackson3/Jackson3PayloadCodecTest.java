package outbox.jackson3;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.payload.PayloadException;
import outbox.payload.PayloadTypes;
import tools.jackson.databind.DefaultTyping;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.jsontype.BasicPolymorphicTypeValidator;

import java.time.Instant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class Jackson3PayloadCodecTest {

    record Order(String id, int cents) {}

    record Shipment(Order order, Instant at) {}

    private final Jackson3PayloadCodec codec = new Jackson3PayloadCodec();

    @Test
    void a_value_comes_back_as_it_was_written() {
        Shipment shipment = new Shipment(new Order("7 \"ü\" 🎉", 110), Instant.parse("2026-11-16T10:00:00.123456Z"));

        assertThat(codec.read(codec.write(shipment), Shipment.class)).isEqualTo(shipment);
    }

    @Test
    void what_a_newer_node_has_added_is_passed_over() {
        assertThat(codec.read("{\"id\":\"7\",\"cents\":1,\"new\":true}", Order.class))
                .isEqualTo(new Order("7", 1));
    }

    @Test
    void an_older_form_can_be_read_as_a_tree_and_becomes_the_current_one() {
        PayloadTypes types = PayloadTypes.builder(codec)
                .type("paid", 2, Order.class)
                .upcast(
                        "paid",
                        1,
                        JsonNode.class,
                        old -> new Order(old.get("order").asString(), 1))
                .build();
        EventEnvelope old = EventEnvelope.ofJson("paid", "{\"order\":\"7\"}");

        assertThat(types.receive(old, Order.class)).isEqualTo(new Order("7", 1));
    }

    @Test
    void what_is_not_of_the_form_is_refused_without_its_content() {
        for (String payload : new String[] {"{\"cents\":\"secret\"}", "{\"id\":", "null", "[secret]", "{} {}", ""}) {
            assertThatThrownBy(() -> codec.read(payload, Order.class))
                    .isInstanceOf(PayloadException.class)
                    .hasMessageNotContaining("secret")
                    .hasNoCause();
        }
    }

    @Test
    void what_is_not_of_the_form_is_dead_at_once() {
        PayloadTypes types =
                PayloadTypes.builder(codec).type("paid", Order.class).build();

        assertThatThrownBy(() -> types.receive(EventEnvelope.ofJson("paid", "secret"), Order.class))
                .isInstanceOf(GiveUpException.class)
                .hasMessageNotContaining("secret");
    }

    @Test
    void a_value_that_has_no_form_is_refused() {
        JsonMapper strict = JsonMapper.builder()
                .enable(tools.jackson.databind.SerializationFeature.FAIL_ON_EMPTY_BEANS)
                .build();

        assertThatThrownBy(() -> new Jackson3PayloadCodec(strict).write(new Object())) // it has no properties
                .isInstanceOf(PayloadException.class);
    }

    @Test
    void the_mapper_of_the_application_decides() {
        Jackson3PayloadCodec strict = new Jackson3PayloadCodec(JsonMapper.builder()
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .build());

        assertThatThrownBy(() -> strict.read("{\"id\":\"7\",\"new\":true}", Order.class))
                .isInstanceOf(PayloadException.class);
    }

    @Test
    void a_mapper_that_lets_payloads_choose_classes_is_refused() {
        JsonMapper typing = JsonMapper.builder()
                .activateDefaultTyping(
                        BasicPolymorphicTypeValidator.builder()
                                .allowIfBaseType(Object.class)
                                .build(),
                        DefaultTyping.NON_FINAL)
                .build();

        assertThatThrownBy(() -> new Jackson3PayloadCodec(typing))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("default typing");
    }
}
