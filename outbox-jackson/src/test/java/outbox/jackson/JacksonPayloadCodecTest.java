package outbox.jackson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.jsontype.BasicPolymorphicTypeValidator;
import org.junit.jupiter.api.Test;
import outbox.payload.PayloadException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class JacksonPayloadCodecTest {

    record Order(String id, int cents) {}

    private final JacksonPayloadCodec codec = new JacksonPayloadCodec();

    @Test
    void a_value_comes_back_as_it_was_written() {
        Order order = new Order("7 \"ü\" 🎉", 110);

        assertThat(codec.read(codec.write(order), Order.class)).isEqualTo(order);
    }

    @Test
    void what_a_newer_node_has_added_is_passed_over() {
        assertThat(codec.read("{\"id\":\"7\",\"cents\":1,\"new\":true}", Order.class))
                .isEqualTo(new Order("7", 1));
    }

    @Test
    void an_older_form_can_be_read_as_a_tree() {
        assertThat(codec.read("{\"id\":7}", JsonNode.class).get("id").asInt()).isEqualTo(7);
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
    void a_value_that_has_no_form_is_refused() {
        assertThatThrownBy(() -> codec.write(new Object())) // it has no properties
                .isInstanceOf(PayloadException.class);
    }

    @Test
    void the_mapper_of_the_application_decides() {
        JacksonPayloadCodec strict = new JacksonPayloadCodec(new ObjectMapper());

        assertThatThrownBy(() -> strict.read("{\"id\":\"7\",\"new\":true}", Order.class))
                .isInstanceOf(PayloadException.class);
    }

    @Test
    void a_mapper_that_lets_payloads_choose_classes_is_refused() {
        ObjectMapper typing = new ObjectMapper()
                .activateDefaultTyping(
                        BasicPolymorphicTypeValidator.builder()
                                .allowIfBaseType(Object.class)
                                .build(),
                        ObjectMapper.DefaultTyping.NON_FINAL);

        assertThatThrownBy(() -> new JacksonPayloadCodec(typing))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("default typing");
    }
}
