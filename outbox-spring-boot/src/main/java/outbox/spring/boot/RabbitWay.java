package outbox.spring.boot;

import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.rabbitmq.RabbitRoute;
import outbox.spring.OutboxListeners;

import java.util.List;

/**
 * Which events of an outbox go to RabbitMQ, and where.
 *
 * @param origin what an error says
 */
record RabbitWay(
        List<String> types, String aggregate, String outbox, EventTemplate exchange, EventTemplate key, String origin) {

    boolean isFor(String name) {
        return outbox.equals(name);
    }

    /** Whether both speak of the same events, be it of one type among others. */
    boolean meetsAny(List<RabbitWay> others, String type) {
        return others.stream()
                .anyMatch(other ->
                        other.isFor(outbox) && other.aggregate.equals(aggregate) && other.types.contains(type));
    }

    RabbitRoute of(EventEnvelope event) {
        return new RabbitRoute(exchange.of(event), key.of(event));
    }

    /** Adds itself under the same patterns as its listener, so that both lists decide alike. */
    void addTo(OutboxListeners ways) {
        for (String type : types) {
            ways.add(new OutboxListeners.Entry(aggregate, type, new Holder(this), origin));
        }
    }

    /** Lets a list of listeners find a way. */
    record Holder(RabbitWay way) implements EventListener {

        @Override
        public void onEvent(EventEnvelope event) {
            throw new UnsupportedOperationException("Only tells the way");
        }
    }
}
