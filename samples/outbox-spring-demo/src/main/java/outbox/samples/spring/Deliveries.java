package outbox.samples.spring;

import org.springframework.stereotype.Component;
import outbox.EventEnvelope;
import outbox.EventListener;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The listener: remembers the last events it received, so that they can be looked at. A real one would call a carrier or a broker. */
@Component
class Deliveries implements EventListener {

    private static final int KEPT = 1000;

    private final Deque<Delivery> latest = new ArrayDeque<>(); // guarded by this

    @Override
    public synchronized void onEvent(EventEnvelope event) {
        if (latest.size() == KEPT) {
            latest.removeFirst();
        }
        latest.addLast(new Delivery(
                event.eventId(),
                event.eventType(),
                String.valueOf(event.aggregateId()),
                event.occurredAt(),
                event.payloadJson()));
    }

    synchronized List<Delivery> latest() {
        return List.copyOf(latest);
    }

    /** An event as the listener saw it. */
    record Delivery(String eventId, String eventType, String orderId, Instant occurredAt, String payload) {}
}
