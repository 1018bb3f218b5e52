package outbox.testing;

import org.assertj.core.api.AbstractAssert;
import outbox.EventEnvelope;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadException;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Asserts that at least one event matches all conditions, or exactly as many as {@link #times} says. All conditions
 * must hold for the same event.
 */
public final class EventsAssert extends AbstractAssert<EventsAssert, List<WrittenEvent>> {

    private final OutboxAssert outbox;
    private final List<WrittenEvent> all;
    private final String wanted;

    EventsAssert(OutboxAssert outbox, List<WrittenEvent> found, List<WrittenEvent> all, String wanted) {
        super(found, EventsAssert.class);
        this.outbox = outbox;
        this.all = all;
        this.wanted = wanted;
        if (found.isEmpty()) {
            throw failure("Expected %s, but the outbox has:%n%s%s", wanted, TestOutbox.list(all), hint());
        }
    }

    private String hint() {
        return outbox.outbox().isInTransaction() ? "(with the events of the transaction that the test is in)" : "";
    }

    /** The payload is the same JSON. The order of fields and white space do not matter. */
    public EventsAssert withPayload(String json) {
        JsonText expected = JsonText.of(json);
        return such(
                "with payload " + json + expected.how(),
                event -> !event.envelope().isBinary()
                        && expected.isSame(event.envelope().payloadJson()));
    }

    /** The payload consists of these bytes. */
    public EventsAssert withPayload(byte[] bytes) {
        return such(
                "with a payload of the given " + bytes.length + " bytes",
                event -> Arrays.equals(event.envelope().payloadBytes(), bytes));
    }

    /** The payload equals the value after the codec of the outbox has read it as the type of the value. */
    public EventsAssert withPayload(Object value) {
        if (value instanceof String json) {
            return withPayload(json);
        }
        if (value instanceof byte[] bytes) {
            return withPayload(bytes);
        }
        return such("with payload " + value, event -> value.equals(read(event, value.getClass())));
    }

    /** The payload satisfies the requirements after the codec of the outbox has read it as this type. */
    public <T> EventsAssert withPayloadSatisfying(Class<T> type, Consumer<T> requirements) {
        StringBuilder why = new StringBuilder();
        return such("with a payload that satisfies the requirements", why, event -> {
            try {
                requirements.accept(Objects.requireNonNull(read(event, type)));
                return true;
            } catch (AssertionError e) {
                why.append('\n').append(e.getMessage());
                return false;
            }
        });
    }

    public EventsAssert withHeader(String name, String value) {
        return such(
                "with header " + name + "=" + value,
                event -> value.equals(event.envelope().headers().get(name)));
    }

    public EventsAssert withHeader(String name) {
        return such("with header " + name, event -> event.envelope().headers().containsKey(name));
    }

    public EventsAssert forAggregate(String aggregateType, String aggregateId) {
        return such("for " + aggregateType + " " + aggregateId, event -> {
            EventEnvelope envelope = event.envelope();
            return aggregateType.equals(envelope.aggregateType()) && aggregateId.equals(envelope.aggregateId());
        });
    }

    /** The listener of the event has this name: its own name, or {@code aggregateType:eventType} if it has none. */
    public EventsAssert to(String listener) {
        return such("to listener " + listener, event -> listener.equals(event.listener()));
    }

    /** The last error of the event contains the text. */
    public EventsAssert withError(String text) {
        return such(
                "with an error that contains '" + text + "'",
                event -> event.error() != null && event.error().contains(text));
    }

    /** The event has this number of failed attempts. */
    public EventsAssert withAttempts(int attempts) {
        return such("after " + attempts + " failed attempts", event -> event.attempts() == attempts);
    }

    /** Exactly this number of events matches. */
    public EventsAssert times(int count) {
        if (actual.size() != count) {
            throw failure(
                    "Expected %s, %s times, but %s were found, and the outbox has:%n%s",
                    wanted, count, actual.size(), TestOutbox.list(all));
        }
        return this;
    }

    /** Applies other assertions to each event that matches the conditions so far. */
    public EventsAssert allSatisfy(Consumer<WrittenEvent> requirements) {
        actual.forEach(requirements);
        return this;
    }

    /** Returns to the assertions about the outbox. */
    public OutboxAssert and() {
        return outbox;
    }

    private EventsAssert such(String condition, Predicate<WrittenEvent> which) {
        return such(condition, new StringBuilder(), which);
    }

    private EventsAssert such(String condition, StringBuilder why, Predicate<WrittenEvent> which) {
        List<WrittenEvent> left = actual.stream().filter(which).toList();
        String narrowed = wanted + ", " + condition;
        if (left.isEmpty()) {
            throw failure("Expected %s, but the outbox has:%n%s%s%s", narrowed, TestOutbox.list(all), hint(), why);
        }
        return new EventsAssert(outbox, left, all, narrowed);
    }

    private <T> T read(WrittenEvent event, Class<T> type) {
        PayloadCodec codec = outbox.outbox().payloads();
        if (codec == null) {
            throw new IllegalStateException("This outbox has no PayloadCodec to read a payload as " + type.getName()
                    + ": give one to TestOutbox.builder(…).payloads(…), or compare with JSON");
        }
        try {
            return codec.read(event.envelope().payloadJson(), type);
        } catch (PayloadException e) {
            throw new AssertionError(
                    "The payload of " + event + " cannot be read as " + type.getName() + ": " + e.getMessage(), e);
        }
    }
}
