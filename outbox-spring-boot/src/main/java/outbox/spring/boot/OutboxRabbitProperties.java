package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import outbox.spring.Outbox;

import java.net.URI;
import java.time.Duration;
import java.util.List;

/**
 * What goes to RabbitMQ, and how.
 *
 * @param enabled whether events are published to RabbitMQ
 * @param connectionFactory name of the connection factory bean, of Spring or of the client, where there are several
 * @param routes which events go where; an event that no route names goes to its listener
 * @param format how messages look: a JSON object around the payload, or the payload with the attributes of CloudEvents as headers; a MessageFormat bean wins
 * @param source what the events come from, as CloudEvents have it
 * @param channels how many channels share the work, 1 to 64; the events of an aggregate stay on one
 * @param maxInFlight how many events of an outbox wait for the broker's word at a time, 1 to 10000
 * @param confirmTimeout how long an event waits for the broker's word before it is put off; 1ms to 10m
 * @param countOutages whether what fails because of the broker counts as a failed attempt, so that a long outage makes events dead; needs breaker.enabled=false
 * @param drainTime how long a shutdown waits for what is in flight, 0 to 10m
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
     * One way to the broker.
     *
     * @param type types of events, with * for any run of characters
     * @param aggregate type of the aggregates, with * for any run of characters
     * @param outbox name of the outbox, where there are several
     * @param exchange exchange, with placeholders {type}, {aggregate}, {aggregateId} and {header:name}; empty for that of the broker, whose keys are queues
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
     * Keeps events in the table while the broker cannot be used.
     *
     * @param enabled whether events stay in the table while the broker cannot be used, instead of being put off one by one
     * @param openFor how long it waits before it tries the broker again; 1ms to 1d
     */
    record Breaker(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("5s") Duration openFor) {}
}
