package outbox.testing;

import outbox.model.EventStatus;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a call of {@link TestOutbox#deliver} did.
 *
 * @param events those that were attempted or became dead, in the order of their outcomes, as they were at the end of the call
 */
public record DeliveryReport(List<WrittenEvent> events) {

    public DeliveryReport {
        events = List.copyOf(events);
    }

    /** The events whose listener took them. */
    public List<WrittenEvent> delivered() {
        return with(EventStatus.DONE);
    }

    /** The events whose attempt failed and that will be tried again. */
    public List<WrittenEvent> retrying() {
        return with(EventStatus.RETRY);
    }

    /** The events that became dead. */
    public List<WrittenEvent> dead() {
        return with(EventStatus.DEAD);
    }

    private List<WrittenEvent> with(EventStatus status) {
        return events.stream().filter(event -> event.status() == status).toList();
    }

    /** Both as one; an event that is in both counts as the later has it. */
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
