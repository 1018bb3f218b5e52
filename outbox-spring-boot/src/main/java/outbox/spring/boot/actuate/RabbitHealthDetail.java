package outbox.spring.boot.actuate;

import outbox.rabbitmq.RabbitHealth;
import outbox.rabbitmq.RabbitTransport;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The state of the RabbitMQ transports. An unavailable broker does not change the health of the outbox, because
 * events wait in the table.
 */
final class RabbitHealthDetail implements HealthDetail {

    private final Supplier<List<RabbitTransport>> transports;

    RabbitHealthDetail(Supplier<List<RabbitTransport>> transports) {
        this.transports = transports;
    }

    @Override
    public String name() {
        return "rabbitmq";
    }

    @Override
    public Map<String, Object> details() {
        Map<String, Object> details = new LinkedHashMap<>();
        transports.get().forEach(transport -> details.put(transport.listenerName(), view(transport.health())));
        return details;
    }

    private static View view(RabbitHealth health) {
        return new View()
                .with("connected", health.connected())
                .with("inFlight", health.inFlight())
                .with("oldest", health.oldest())
                .with("blocked", health.blocked())
                .with("trouble", health.trouble());
    }
}
