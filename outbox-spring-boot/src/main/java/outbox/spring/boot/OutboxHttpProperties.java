package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import outbox.EventEnvelope;
import outbox.spring.Outbox;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What is posted to HTTP endpoints.
 *
 * @param enabled whether events are posted to HTTP endpoints
 * @param endpoints where events are posted to; an event that no endpoint names goes to its listener
 */
@ConfigurationProperties(OutboxHttpProperties.PREFIX)
record OutboxHttpProperties(
        @DefaultValue("true") boolean enabled, @DefaultValue List<Endpoint> endpoints) {

    static final String PREFIX = "outbox.http";

    private static final Duration SHORTEST = Duration.ofMillis(1);
    private static final Duration LONGEST = Duration.ofMinutes(10);

    OutboxHttpProperties {
        for (int i = 0; i < endpoints.size(); i++) {
            endpoints.get(i).check(PropertyCheck.of(PREFIX).at("endpoints[" + i + "]"));
        }
    }

    /**
     * One endpoint.
     *
     * @param name by which rules, limits and pauses know it as a listener; each endpoint has its own
     * @param type types of events, with * for any run of characters
     * @param aggregate type of the aggregates, with * for any run of characters
     * @param outbox name of the outbox, where there are several
     * @param url where to post to, http or https; it may hold a token, and is never logged whole
     * @param source what the events come from, as CloudEvents have it
     * @param secrets what signs the messages, whsec_ and Base64 each; up to three, to change one; never logged
     * @param headers headers to send with each message, such as Authorization; values are never logged
     * @param sslBundle name of the SSL bundle with keys and trust for https; by default those of the JVM
     * @param connectTimeLimit how long to wait for a connection, 1ms to 10m, not longer than the limit of the request
     * @param requestTimeLimit how long a request may take, the answer included, 1ms to 10m
     * @param longestRetryAfter a Retry-After beyond this counts as this, 1ms to 1d
     * @param drainTime how long a shutdown waits for what is in flight, 0 to 10m
     * @param maxInFlight how many requests are open at a time, 1 to 10000
     * @param maxBodySize an event with a larger payload is given up, 1B to what an event can have
     */
    record Endpoint(
            @Nullable String name,
            @DefaultValue List<String> type,
            @DefaultValue("*") String aggregate,
            @DefaultValue(Outbox.DEFAULT) String outbox,
            @Nullable String url, // not a URI: what does not become one would be shown by whoever converts it
            @DefaultValue("/outbox") URI source,
            @DefaultValue List<String> secrets,
            @DefaultValue Map<String, String> headers,
            @Nullable String sslBundle,
            @DefaultValue("5s") Duration connectTimeLimit,
            @DefaultValue("30s") Duration requestTimeLimit,
            @DefaultValue("1h") Duration longestRetryAfter,
            @DefaultValue("10s") Duration drainTime,
            @DefaultValue("64") int maxInFlight,
            @Nullable DataSize maxBodySize,
            @DefaultValue Breaker breaker) {

        private void check(PropertyCheck check) {
            check.notBlank("name", name);
            if (type.isEmpty() || type.stream().anyMatch(String::isBlank)) {
                throw check.refuse("type", String.join(",", type), "one or more types of events, or patterns with *");
            }
            check.notBlank("aggregate", aggregate);
            check.notBlank("outbox", outbox);
            if (url == null) {
                throw check.refuse("url", null, "an absolute http or https URI");
            }
            if (source.toString().isEmpty()) {
                throw check.refuse("source", source, "a URI");
            }
            check.between("request-time-limit", requestTimeLimit, SHORTEST, LONGEST);
            check.between("connect-time-limit", connectTimeLimit, SHORTEST, requestTimeLimit);
            check.between("longest-retry-after", longestRetryAfter, SHORTEST, Duration.ofDays(1));
            check.between("drain-time", drainTime, Duration.ZERO, LONGEST);
            check.between("max-in-flight", maxInFlight, 1, 10_000);
            if (maxBodySize != null) {
                check.between("max-body-size", maxBodySize.toBytes(), 1, EventEnvelope.MAX_PAYLOAD_BYTES);
            }
            check.at("breaker").between("open-for", breaker.openFor, SHORTEST, Duration.ofDays(1));
        }

        /** Secrets, headers and the path of the URL stay here. */
        @Override
        public String toString() {
            return "Endpoint[" + name + "]";
        }
    }

    /**
     * Keeps events in the table while the endpoint cannot be used.
     *
     * @param enabled whether events stay in the table while the endpoint cannot be used, instead of losing attempts
     * @param openFor how long it waits before it tries the endpoint again, 1ms to 1d
     */
    record Breaker(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("5s") Duration openFor) {}
}
