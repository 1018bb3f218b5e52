package outbox.testing;

import outbox.model.EventStatus;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The result of a call of {@link TestOutbox#deliver}.
 *
 * @param events the events that were attempted or became dead, in the order of their outcomes, in their state at the
 *     end of the call
 */
public record DeliveryReport(List<WrittenEvent> events) {

    public DeliveryReport {
        events = List.copyOf(events);
    }

    /** Returns the events that their listener processed. */
    public List<WrittenEvent> delivered() {
        return with(EventStatus.DONE);
    }

    /** Returns the events whose attempt failed and that will be retried. */
    public List<WrittenEvent> retrying() {
        return with(EventStatus.RETRY);
    }

    /** Returns the events that became dead. */
    public List<WrittenEvent> dead() {
        return with(EventStatus.DEAD);
    }

    private List<WrittenEvent> with(EventStatus status) {
        return events.stream().filter(event -> event.status() == status).toList();
    }

    /** Merges both reports. If an event is in both, the later report applies. */
    DeliveryReport and(DeliveryReport later) {
        Map<String, WrittenEvent> all = new LinkedHashMap<>();
        events.forEach(event -> all.put(event.envelope().eventId(), event));
        later.events.forEach(event -> all.put(event.envelope().eventId(), event));
        return new DeliveryReport(List.copyOf(all.values()));
    }

    @Override
    public String toString() {
        return events.isEmpty()
                ? "nothing was due"
                : events.stream().map(WrittenEvent::toString).collect(Collectors.joining("\n"));
    }
}
