package outbox.spring.boot.rabbit;

import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.rabbitmq.RabbitRoute;
import outbox.spring.OutboxListeners;

import java.util.List;

/**
 * A route: which events of an outbox go to RabbitMQ, and to which exchange.
 *
 * @param origin the description of the route in error messages
 */
record RabbitWay(
        List<String> types, String aggregate, String outbox, EventTemplate exchange, EventTemplate key, String origin) {

    boolean isFor(String name) {
        return outbox.equals(name);
    }

    /** Whether one of the others matches the same events, even if only for one of its types. */
    boolean meetsAny(List<RabbitWay> others, String type) {
        return others.stream()
                .anyMatch(other ->
                        other.isFor(outbox) && other.aggregate.equals(aggregate) && other.types.contains(type));
    }

    RabbitRoute of(EventEnvelope event) {
        return new RabbitRoute(exchange.of(event), key.of(event));
    }

    /** Adds this route under the same patterns as its listener, so that both lists select the same entry. */
    void addTo(OutboxListeners ways) {
        for (String type : types) {
            ways.add(new OutboxListeners.Entry(aggregate, type, new Holder(this), origin));
        }
    }

    /** Allows a route to be stored in a list of listeners. */
    record Holder(RabbitWay way) implements EventListener {

        @Override
        public void onEvent(EventEnvelope event) {
            throw new UnsupportedOperationException("Only tells the way");
        }
    }
}
