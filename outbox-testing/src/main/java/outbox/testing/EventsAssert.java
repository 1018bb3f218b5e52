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
 * Asserts that there is an event, and narrows down which: all conditions must hold for the same event. One such event at least, unless {@link #times} says how many.
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

    /** With a payload that is the same JSON, whatever the order of its fields and its white space. */
    public EventsAssert withPayload(String json) {
        JsonText expected = JsonText.of(json);
        return such(
                "with payload " + json + expected.how(),
                event -> !event.envelope().isBinary()
                        && expected.isSame(event.envelope().payloadJson()));
    }

    /** With these bytes as payload. */
    public EventsAssert withPayload(byte[] bytes) {
        return such(
                "with a payload of the given " + bytes.length + " bytes",
                event -> Arrays.equals(event.envelope().payloadBytes(), bytes));
    }

    /** With a payload that equals the value when it is read as its type, by the codec of the outbox. */
    public EventsAssert withPayload(Object value) {
        if (value instanceof String json) {
            return withPayload(json);
        }
        if (value instanceof byte[] bytes) {
            return withPayload(bytes);
        }
        return such("with payload " + value, event -> value.equals(read(event, value.getClass())));
    }

    /** With a payload that, read as this type, fulfils the requirements. */
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

    /** The listener of such events has this name: its own, else {@code aggregateType:eventType}. */
    public EventsAssert to(String listener) {
        return such("to listener " + listener, event -> listener.equals(event.listener()));
    }

    /** Its last error contains the text. */
    public EventsAssert withError(String text) {
        return such(
                "with an error that contains '" + text + "'",
                event -> event.error() != null && event.error().contains(text));
    }

    /** So many attempts of it have failed. */
    public EventsAssert withAttempts(int attempts) {
        return such("after " + attempts + " failed attempts", event -> event.attempts() == attempts);
    }

    /** There are exactly so many. */
    public EventsAssert times(int count) {
        if (actual.size() != count) {
            throw failure(
                    "Expected %s, %s times, but %s were found, and the outbox has:%n%s",
                    wanted, count, actual.size(), TestOutbox.list(all));
        }
        return this;
    }

    /** Any of the conditions of your own, for each of the events that are left. */
    public EventsAssert allSatisfy(Consumer<WrittenEvent> requirements) {
        actual.forEach(requirements);
        return this;
    }

    /** Back to the outbox, for the next assertion. */
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
