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

    private static Map<String, Object> view(RabbitHealth health) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("connected", health.connected());
        view.put("inFlight", health.inFlight());
        RelayView.putDuration(view, "oldest", health.oldest());
        if (health.blocked() != null) {
            view.put("blocked", health.blocked());
        }
        if (health.trouble() != null) {
            view.put("trouble", health.trouble());
        }
        return view;
    }
}
