package outbox.spring.boot.rabbit;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import outbox.spring.Outbox;
import outbox.spring.boot.internal.PropertyCheck;

import java.net.URI;
import java.time.Duration;
import java.util.List;

/**
 * Settings of the delivery to RabbitMQ.
 *
 * @param enabled whether events are published to RabbitMQ
 * @param connectionFactory name of the connection factory bean, of Spring or of the client, if there are several
 * @param routes which events go to which exchange; an event that no route matches goes to its listener
 * @param format format of the messages: a JSON object around the payload, or the payload with the CloudEvents
 *     attributes as headers; a MessageFormat bean takes precedence
 * @param source the source attribute of the CloudEvents
 * @param channels how many channels are used, 1 to 64; the events of an aggregate stay on one channel
 * @param maxInFlight how many events of an outbox wait for a confirm of the broker at the same time, 1 to 10000
 * @param confirmTimeout how long an event waits for a confirm of the broker before it is postponed; 1ms to 10m
 * @param countOutages whether a failure of the broker counts as a failed attempt, so that a long outage makes events
 *     dead; needs breaker.enabled=false
 * @param drainTime how long a shutdown waits for messages in flight, 0 to 10m
 */
@ConfigurationProperties(OutboxRabbitProperties.PREFIX)
record OutboxRabbitProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String connectionFactory,
        @DefaultValue List<Route> routes,
        @DefaultValue("contract") Format format,
        @DefaultValue("/outbox") URI source,
        @DefaultValue("1") int channels,
        @DefaultValue("512") int maxInFlight,
        @DefaultValue("30s") Duration confirmTimeout,
        @DefaultValue("false") boolean countOutages,
        @DefaultValue("10s") Duration drainTime,
        @DefaultValue Breaker breaker) {

    static final String PREFIX = "outbox.rabbitmq";

    private static final Duration LONGEST = Duration.ofMinutes(10);
    private static final Duration SHORTEST = Duration.ofMillis(1);

    OutboxRabbitProperties {
        PropertyCheck check = PropertyCheck.of(PREFIX);
        check.between("channels", channels, 1, 64);
        check.between("max-in-flight", maxInFlight, 1, 10_000);
        check.between("confirm-timeout", confirmTimeout, SHORTEST, LONGEST);
        check.between("drain-time", drainTime, Duration.ZERO, LONGEST);
        check.at("breaker").between("open-for", breaker.openFor, SHORTEST, Duration.ofDays(1));
        if (countOutages && breaker.enabled) {
            throw check.refuse("count-outages", countOutages, "false, unless breaker.enabled is false");
        }
        if (source.toString().isEmpty()) {
            throw check.refuse("source", source, "a URI");
        }
        for (int i = 0; i < routes.size(); i++) {
            routes.get(i).check(check.at("routes[" + i + "]"));
        }
    }

    enum Format {
        CONTRACT,
        CLOUD_EVENTS
    }

    /**
     * One route to the broker.
     *
     * @param type event types; * matches any sequence of characters
     * @param aggregate aggregate type; * matches any sequence of characters
     * @param outbox name of the outbox, if there are several
     * @param exchange exchange, with placeholders {type}, {aggregate}, {aggregateId} and {header:name}; empty for
     *     the default exchange of the broker, where the routing key is a queue name
     * @param routingKey routing key, with the same placeholders
     */
    record Route(
            @DefaultValue List<String> type,
            @DefaultValue("*") String aggregate,
            @DefaultValue(Outbox.DEFAULT) String outbox,
            @Nullable String exchange,
            @DefaultValue("{type}") String routingKey) {

        private void check(PropertyCheck check) {
            if (type.isEmpty() || type.stream().anyMatch(String::isBlank)) {
                throw check.refuse("type", String.join(",", type), "one or more types of events, or patterns with *");
            }
            check.notBlank("aggregate", aggregate);
            check.notBlank("outbox", outbox);
            if (exchange == null) {
                throw check.refuse("exchange", null, "the name of an exchange; write \"\" for that of the broker");
            }
            template(check, "exchange", exchange);
            template(check, "routing-key", routingKey);
        }

        private static void template(PropertyCheck check, String key, String value) {
            try {
                new EventTemplate(value);
            } catch (IllegalArgumentException e) {
                throw check.refuse(key, value, "a text with placeholders that are known: " + e.getMessage());
            }
        }
    }

    /**
     * Keeps events in the table while the broker is unavailable.
     *
     * @param enabled whether events stay in the table while the broker is unavailable, instead of being postponed
     *     one by one
     * @param openFor how long to wait before the broker is tried again; 1ms to 1d
     */
    record Breaker(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("5s") Duration openFor) {}
}
