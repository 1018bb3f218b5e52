package outbox.spring.boot.http;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import outbox.EventEnvelope;
import outbox.spring.Outbox;
import outbox.spring.boot.internal.PropertyCheck;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Settings of the delivery to HTTP endpoints.
 *
 * @param enabled whether events are posted to HTTP endpoints
 * @param endpoints the HTTP endpoints and the events that each receives; an event that no endpoint matches goes to
 *     its listener
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
     * @param name name of the endpoint as a listener in rules, limits and pauses; must be unique
     * @param type event types; * matches any sequence of characters
     * @param aggregate aggregate type; * matches any sequence of characters
     * @param outbox name of the outbox, if there are several
     * @param url target URL, http or https; it may contain a token and is never logged completely
     * @param source the source attribute of the CloudEvents
     * @param secrets the keys that sign the messages, each whsec_ and Base64; up to three, for key
     *     rotation; never logged
     * @param headers headers to send with each message, such as Authorization; values are never logged
     * @param sslBundle name of the SSL bundle with keys and trust for https; by default those of the JVM
     * @param connectTimeLimit how long to wait for a connection, 1ms to 10m, not longer than the limit
     *     of the request
     * @param requestTimeLimit how long a request may take, including the response, 1ms to 10m
     * @param longestRetryAfter upper limit for a Retry-After of the endpoint, 1ms to 1d
     * @param drainTime how long a shutdown waits for requests in flight, 0 to 10m
     * @param maxInFlight how many requests are open at the same time, 1 to 10000
     * @param maxBodySize an event with a larger payload becomes dead, 1B to the maximum payload size of an event
     */
    record Endpoint(
            @Nullable String name,
            @DefaultValue List<String> type,
            @DefaultValue("*") String aggregate,
            @DefaultValue(Outbox.DEFAULT) String outbox,
            @Nullable String url, // not a URI: a conversion error would show the value
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

        /** Does not contain secrets, headers or the path of the URL. */
        @Override
        public String toString() {
            return "Endpoint[" + name + "]";
        }
    }

    /**
     * Keeps events in the table while the endpoint is unavailable.
     *
     * @param enabled whether events stay in the table while the endpoint is unavailable, instead
     *     of consuming attempts
     * @param openFor how long to wait before the endpoint is tried again, 1ms to 1d
     */
    record Breaker(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("5s") Duration openFor) {}
}
