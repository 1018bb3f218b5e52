package outbox.spring.boot.monitoring;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import outbox.rabbitmq.ConsumerHealth;
import outbox.rabbitmq.RabbitConsumer;

import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** Counts the outcomes of the messages of each consumer, by the bean name of the consumer. */
final class RabbitConsumerMeters implements MeterBinder {

    private static final Map<String, ToLongFunction<ConsumerHealth>> RESULTS = Map.of(
            "handled", ConsumerHealth::handled,
            "duplicate", ConsumerHealth::duplicates,
            "redelivered", ConsumerHealth::redelivered,
            "put_off", ConsumerHealth::putOff,
            "dead_lettered", ConsumerHealth::deadLettered);

    private final Supplier<Map<String, RabbitConsumer>> consumers;

    RabbitConsumerMeters(Supplier<Map<String, RabbitConsumer>> consumers) {
        this.consumers = consumers;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        consumers.get().forEach((name, consumer) -> bind(registry, name, consumer));
    }

    private static void bind(MeterRegistry registry, String name, RabbitConsumer consumer) {
        RESULTS.forEach((result, count) -> FunctionCounter.builder(
                        "outbox.consumer.messages", consumer, some -> count.applyAsLong(some.health()))
                .description("Messages of a consumer, by what became of them")
                .tags("consumer", name, "result", result)
                .register(registry));
        Gauge.builder(
                        "outbox.consumer.in.flight",
                        consumer,
                        some -> some.health().inFlight())
                .description("Messages that have arrived and are not settled yet")
                .tag("consumer", name)
                .register(registry);
        Gauge.builder(
                        "outbox.consumer.consuming",
                        consumer,
                        some -> some.health().consuming() ? 1 : 0)
                .description("Whether messages can arrive")
                .tag("consumer", name)
                .register(registry);
    }
}
