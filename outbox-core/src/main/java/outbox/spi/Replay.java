package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;
import outbox.model.EventStatus;
import outbox.util.JsonCodec;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * How events are made pending again.
 *
 * @param requestId whose wish it is; the value of the header {@link #HEADER}
 * @param from what they were: DEAD, DONE or RETRY; events of another status are left alone, and so are RETRY
 *     events that are claimed. A RETRY event stays one, due again with no attempt made
 * @param listener the name of the only listener that may receive them, the value of the header {@link #TO_HEADER}; null for the listener of their route, whatever its name
 * @param firstDue when the first of them is due
 * @param step how much later than the one before it each is due
 */
public record Replay(
        String requestId, Set<EventStatus> from, @Nullable String listener, Instant firstDue, Duration step) {

    /** The header by which a listener knows that its event is replayed: the id of the request. */
    public static final String HEADER = EventRules.RESERVED_HEADER_PREFIX + "replay";

    /** The header that names the only listener that may receive a replayed event. */
    public static final String TO_HEADER = EventRules.RESERVED_HEADER_PREFIX + "replay-to";

    /** The smallest step, so that events which are replayed together are due one after the other. */
    public static final Duration NO_PAUSE = Duration.ofNanos(1000);

    public Replay {
        Objects.requireNonNull(requestId, "requestId");
        Objects.requireNonNull(firstDue, "firstDue");
        from = Set.copyOf(from);
        if (from.isEmpty() || from.contains(EventStatus.NEW)) {
            throw new IllegalArgumentException("Only DONE, DEAD and RETRY events can be replayed, not " + from);
        }
        if (step.isNegative()) {
            throw new IllegalArgumentException("step must not be negative: " + step);
        }
    }

    /** Dead events, to the listener of their route, without a pause between them. */
    public static Replay dead(String requestId, Instant now) {
        return new Replay(requestId, Set.of(EventStatus.DEAD), null, now, NO_PAUSE);
    }

    /** When the event with the given index is due. */
    public Instant dueAt(int index) {
        return firstDue.plus(step.multipliedBy(index));
    }

    /** The headers of an event with the marks of this replay, and without those of an earlier one. What cannot be read stays as it is. */
    public @Nullable String mark(@Nullable String headersJson) {
        Map<String, String> headers;
        try {
            headers = new LinkedHashMap<>(JsonCodec.parseObject(headersJson));
        } catch (IllegalArgumentException e) {
            return headersJson;
        }
        headers.put(HEADER, requestId);
        headers.remove(TO_HEADER);
        if (listener != null) {
            headers.put(TO_HEADER, listener);
        }
        return JsonCodec.toJson(headers);
    }
}
