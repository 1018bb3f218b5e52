package outbox.testing;

import org.assertj.core.api.AbstractAssert;
import outbox.model.EventStatus;

import java.util.List;
import java.util.function.Predicate;

/** Assertions about the events in an outbox. Every failure message lists the written events. */
public final class OutboxAssert extends AbstractAssert<OutboxAssert, TestOutbox> {

    OutboxAssert(TestOutbox outbox) {
        super(outbox, OutboxAssert.class);
    }

    /**
     * An event of this type was written. Its status does not matter. Events of the current transaction count too.
     */
    public EventsAssert wrote(String eventType) {
        return having("written", eventType, event -> true);
    }

    /** The listener processed an event of this type. */
    public EventsAssert delivered(String eventType) {
        return having("delivered", eventType, event -> event.status() == EventStatus.DONE);
    }

    /** An event of this type is not delivered yet: it is new or waits for a retry. */
    public EventsAssert pending(String eventType) {
        return having("pending", eventType, event -> !event.status().isTerminal());
    }

    /** An event of this type is dead. */
    public EventsAssert dead(String eventType) {
        return having("dead", eventType, event -> event.status() == EventStatus.DEAD);
    }

    /** No event was written. */
    public OutboxAssert wroteNothing() {
        return nothing("written", event -> true);
    }

    /** No event of this type was written. */
    public OutboxAssert didNotWrite(String eventType) {
        return nothing(
                "written of type " + eventType, event -> event.eventType().equals(eventType));
    }

    /** No event is dead. */
    public OutboxAssert hasNoDead() {
        return nothing("dead", event -> event.status() == EventStatus.DEAD);
    }

    private OutboxAssert nothing(String what, Predicate<WrittenEvent> which) {
        List<WrittenEvent> all = written();
        List<WrittenEvent> found = all.stream().filter(which).toList();
        if (!found.isEmpty()) {
            throw failure("Expected no event to be %s, but there are:%n%s", what, TestOutbox.list(found));
        }
        return this;
    }

    private EventsAssert having(String what, String eventType, Predicate<WrittenEvent> which) {
        List<WrittenEvent> all = written();
        List<WrittenEvent> found = all.stream()
                .filter(event -> event.eventType().equals(eventType))
                .filter(which)
                .toList();
        return new EventsAssert(this, found, all, "an event of type " + eventType + " to be " + what);
    }

    private List<WrittenEvent> written() {
        isNotNull();
        return actual.events();
    }

    TestOutbox outbox() {
        return actual;
    }
}
