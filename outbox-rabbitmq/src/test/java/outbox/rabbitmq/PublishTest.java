package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class PublishTest {

    @Test
    void it_ends_once_however_often_it_is_told_and_is_ended_before_the_executor_gets_to_it() {
        List<Runnable> ends = new ArrayList<>();
        Publish publish = new Publish(
                EventEnvelope.ofJson("T", "{}"),
                new RabbitRoute("", "q"),
                RabbitMessage.of(new BasicProperties(), new byte[0]),
                ends::add,
                false,
                0);

        publish.putOff("late");
        publish.putOff("later");
        publish.confirm();

        assertThat(ends).hasSize(1);
        assertThat(publish.isEnded()).isTrue();
        assertThat(publish.stage()).isNotDone();
        ends.get(0).run();
        assertThat(publish.stage()).isCompletedExceptionally();
    }

    @Test
    @SuppressWarnings("NullAway") // that is what it is about
    void a_header_without_a_name_is_refused_before_it_comes_to_a_channel() {
        Map<String, Object> nameless = new HashMap<>();
        nameless.put(null, "value");
        BasicProperties nested = new BasicProperties.Builder()
                .headers(Map.of("list", List.of(nameless)))
                .build();

        assertThatThrownBy(() -> RabbitMessage.of(nested, new byte[0])).hasMessageContaining("needs a name");
    }
}
