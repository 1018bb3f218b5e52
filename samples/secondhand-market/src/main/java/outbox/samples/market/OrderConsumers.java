package outbox.samples.market;

import com.rabbitmq.client.ConnectionFactory;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.core.simple.JdbcClient;
import outbox.inbox.Inbox;
import outbox.rabbitmq.ConsumerHealth;
import outbox.rabbitmq.RabbitConsumer;
import outbox.rabbitmq.Redelivery;
import tools.jackson.databind.json.JsonMapper;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;

/** Runs each {@link OrderConsumer} on its queue, with an inbox, and counts the outcomes of the messages. */
final class OrderConsumers implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(OrderConsumers.class);

    private final Map<OrderConsumer, RabbitConsumer> running = new LinkedHashMap<>();

    OrderConsumers(
            List<OrderConsumer> consumers,
            ConnectionFactory broker,
            RabbitSettings rabbit,
            ConsumerSettings settings,
            Inbox inbox,
            JdbcClient jdbc,
            JsonMapper json) {
        for (OrderConsumer consumer : consumers) {
            running.put(
                    consumer,
                    RabbitConsumer.builder()
                            .connectionFactory(broker)
                            .queue(consumer.queue())
                            .consumer(consumer.name())
                            .inbox(new ToldDuplicates(inbox, eventId -> LOG.info("{}: {}", Texts.DUPLICATE, eventId)))
                            .handler(new OrderMessages(consumer, jdbc, json))
                            .prefetch(rabbit.listener().simple().prefetch())
                            .concurrency(rabbit.listener().simple().concurrency())
                            .redelivery(Redelivery.REQUEUE) // section 9.2; the queues have a dead-letter exchange
                            .maxRedeliveries(settings.maxRedeliveries())
                            .redeliveryDelay(settings.redeliveryDelay())
                            .build());
        }
    }

    void start() {
        running.values().forEach(RabbitConsumer::start);
    }

    void bindTo(MeterRegistry registry) {
        running.forEach((consumer, rabbit) -> {
            count(registry, consumer, rabbit, "handled", ConsumerHealth::handled);
            count(registry, consumer, rabbit, "duplicate", ConsumerHealth::duplicates);
            count(registry, consumer, rabbit, "redelivered", ConsumerHealth::redelivered);
            count(registry, consumer, rabbit, "put_off", ConsumerHealth::putOff);
            count(registry, consumer, rabbit, "dead", ConsumerHealth::deadLettered);
        });
    }

    private static void count(
            MeterRegistry registry,
            OrderConsumer consumer,
            RabbitConsumer rabbit,
            String result,
            ToDoubleFunction<ConsumerHealth> value) {
        FunctionCounter.builder("market.consumed", rabbit, asked -> value.applyAsDouble(asked.health()))
                .description("Runs by what became of the message; handled and duplicate are successes (the acks of the"
                        + " scope), redelivered, put_off and dead are failures (its nacks)")
                .tag("queue", consumer.queue())
                .tag("consumer", consumer.name())
                .tag("result", result)
                .register(registry);
    }

    /**
     * Returns the problems of consumers by consumer name: the consumer gets no messages, or it cannot
     * forward failed messages.
     */
    Map<String, String> troubles() {
        Map<String, String> troubles = new LinkedHashMap<>();
        running.forEach((consumer, rabbit) -> {
            ConsumerHealth health = rabbit.health();
            if (health.trouble() != null || !health.consuming()) {
                troubles.put(consumer.name(), Objects.requireNonNullElse(health.trouble(), "not consuming"));
            }
        });
        return troubles;
    }

    /** Waits until the current messages are handled. */
    @Override
    public void close() {
        running.values().forEach(RabbitConsumer::close);
    }
}
