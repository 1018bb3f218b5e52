package outbox.spring.boot.rabbit;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.GiveUpException;

import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class EventTemplateTest {

    private static final EventEnvelope EVENT = EventEnvelope.builder("order.created")
            .aggregateType("Order")
            .aggregateId("7")
            .headers(Map.of("region", "eu"))
            .payloadJson("{}")
            .build();

    @Test
    void placeholders_stand_for_what_the_event_has() {
        assertThat(new EventTemplate("{aggregate}.{aggregateId}.{type}.{header:region}!").of(EVENT))
                .isEqualTo("Order.7.order.created.eu!");
        assertThat(new EventTemplate("plain").of(EVENT)).isEqualTo("plain");
        assertThat(new EventTemplate("").of(EVENT)).isEmpty();
    }

    @Test
    void an_event_that_lacks_a_header_of_its_route_is_given_up() {
        assertThatThrownBy(() -> new EventTemplate("orders.{header:tenant}").of(EVENT))
                .isInstanceOf(GiveUpException.class)
                .hasMessageContaining("{header:tenant}")
                .hasMessageContaining("orders.{header:tenant}");
    }

    @Test
    void what_is_not_known_is_refused() {
        assertThatThrownBy(() -> new EventTemplate("{id}"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("{id}")
                .hasMessageContaining("{aggregateId}");
        assertThatThrownBy(() -> new EventTemplate("{header:}")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new EventTemplate("{type")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new EventTemplate("type}")).isInstanceOf(IllegalArgumentException.class);
    }
}
