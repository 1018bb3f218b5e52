package outbox;

import outbox.internal.CurrentEvent;
import outbox.internal.EventRules;

import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * Counts, in a header, the listeners between an event and its first cause. What a listener writes carries one hop more than what it received, so a cycle of listeners that
 * answer each other ends instead of growing for ever.
 */
final class Hops {

    static final String HEADER = EventRules.RESERVED_HEADER_PREFIX + "hops";
    static final int MAX = 100;

    private Hops() {}

    /** The events as the answer of the listener that runs on this thread; unchanged if none does. */
    static List<EventEnvelope> count(List<EventEnvelope> events) {
        List<EventEnvelope> received = CurrentEvent.all();
        if (received.isEmpty()) {
            return events;
        }
        EventEnvelope cause = Collections.max(
                received, Comparator.comparingInt(Hops::hopsOf)); // which of them it answers is not known
        int before = hopsOf(cause);
        if (before >= MAX) {
            throw new InvalidEventException("Event " + cause.eventId() + " (type " + EventRules.show(cause.eventType())
                    + ") is the end of a chain of " + MAX + " listeners that each wrote an event. Break the cycle.");
        }
        String hops = Integer.toString(before + 1);
        return events.stream()
                .map(event -> event.withReservedHeader(HEADER, hops))
                .toList();
    }

    private static int hopsOf(EventEnvelope event) {
        String header = event.headers().get(HEADER);
        try {
            return header == null ? 0 : Math.max(0, Integer.parseInt(header));
        } catch (NumberFormatException e) {
            return 0; // another program wrote the row
        }
    }
}
