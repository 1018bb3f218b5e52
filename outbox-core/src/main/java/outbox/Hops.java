package outbox;

import outbox.internal.CurrentEvent;
import outbox.internal.EventRules;

import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * Counts, in a header, how many listeners lie between an event and its first cause. An event that a listener writes
 * has one hop more than the event that the listener received. A cycle of listeners therefore ends at a limit instead
 * of running forever.
 */
final class Hops {

    static final int MAX = 100;

    private Hops() {}

    /**
     * Adds the hop count to events that a listener on the current thread writes. Returns them unchanged if no
     * listener runs on it.
     */
    static List<EventEnvelope> count(List<EventEnvelope> events) {
        List<EventEnvelope> received = CurrentEvent.all();
        if (received.isEmpty()) {
            return events;
        }
        // In a batch the exact cause is not known, so use the longest chain.
        EventEnvelope cause = Collections.max(received, Comparator.comparingInt(Hops::hopsOf));
        int before = hopsOf(cause);
        if (before >= MAX) {
            throw new InvalidEventException("Event " + cause.eventId() + " (type " + EventRules.show(cause.eventType())
                    + ") is the end of a chain of " + MAX + " listeners that each wrote an event. Break the cycle.");
        }
        String hops = Integer.toString(before + 1);
        return events.stream()
                .map(event -> event.withReservedHeader(EventHeaders.HOPS, hops))
                .toList();
    }

    private static int hopsOf(EventEnvelope event) {
        String header = event.headers().get(EventHeaders.HOPS);
        try {
            return header == null ? 0 : Math.max(0, Integer.parseInt(header));
        } catch (NumberFormatException e) {
            return 0; // another program wrote the header
        }
    }
}
