package outbox.cli;

import outbox.EventListener;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.Protection;
import outbox.http.HttpTransport;
import outbox.http.WebhookSecret;
import outbox.rabbitmq.PublishRefusedException;
import outbox.rabbitmq.RabbitTransport;

import java.net.URI;
import java.time.Duration;

/**
 * The listener that delivers the events of one table, and the circuit breaker that stops deliveries while the
 * destination is unavailable.
 */
record Transport(EventListener listener, boolean isAsync, Protection protection) implements AutoCloseable {

    private static final String HTTP = "http";
    private static final String RABBITMQ = "rabbitmq";

    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(5);
    private static final Duration LONGEST_REQUEST = Duration.ofMinutes(10);
    private static final Duration AFTER_DRAIN =
            Duration.ofSeconds(1); // the dispatcher has already waited for running deliveries

    /** Creates the transport from checked settings. All tables share the transport to standard output. */
    static Transport to(RelaySettings settings, String table, StdoutTransport stdout) {
        RelaySettings.Transport transport = settings.transport();
        if (transport.broker().isPresent()) {
            return toBroker(transport.broker().get(), settings.delivery().dispatchTimeout());
        }
        if (transport.endpoint().isEmpty()) {
            return new Transport(stdout, false, Protection.none());
        }
        Duration limit = settings.delivery().dispatchTimeout();
        Duration request = limit.compareTo(LONGEST_REQUEST) > 0 ? LONGEST_REQUEST : limit;
        CircuitBreaker breaker = CircuitBreaker.named(HTTP).build();
        HttpTransport.Builder http = HttpTransport.named(HTTP)
                .breaker(breaker)
                .endpoint(transport.endpoint().get())
                .source(URI.create("/outbox/" + table))
                .requestTimeLimit(request)
                .drainTime(AFTER_DRAIN)
                .connectTimeLimit(request.compareTo(CONNECT_LIMIT) < 0 ? request : CONNECT_LIMIT);
        transport.secret().map(WebhookSecret::parse).ifPresent(http::signWith);
        transport.authorization().ifPresent(http::authorization);
        return new Transport(
                http.build(),
                true,
                Protection.builder().breakerForListener(HTTP, breaker).build());
    }

    private static Transport toBroker(RelaySettings.Broker broker, Duration limit) {
        CircuitBreaker breaker = CircuitBreaker.named(RABBITMQ)
                .ignore(PublishRefusedException.class)
                .build();
        RabbitTransport rabbit = RabbitTransport.builder()
                .name(RABBITMQ)
                .connectionFactory(broker.factory())
                .exchange(broker.exchange())
                .breaker(breaker)
                .confirmTimeout(limit.compareTo(LONGEST_REQUEST) > 0 ? LONGEST_REQUEST : limit)
                .drainTime(AFTER_DRAIN)
                .build();
        return new Transport(
                rabbit,
                true,
                Protection.builder().breakerForListener(RABBITMQ, breaker).build());
    }

    /** The time limit of the dispatcher, longer than the transport's own limit if it has one. */
    Duration timeLimit(Duration dispatchTimeout) {
        return isAsync ? dispatchTimeout.plusSeconds(5) : dispatchTimeout;
    }

    @Override
    public void close() {
        if (listener instanceof HttpTransport http) {
            http.close();
        } else if (listener instanceof RabbitTransport rabbit) {
            rabbit.close();
        }
    }
}
