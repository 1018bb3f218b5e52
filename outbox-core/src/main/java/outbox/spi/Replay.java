package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventHeaders;
import outbox.model.EventStatus;
import outbox.util.JsonCodec;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Describes how events are made pending again.
 *
 * @param requestId the id of the replay request; the value of header {@link EventHeaders#REPLAY}
 * @param from the statuses to replay: DEAD, DONE or RETRY. Events with another status are not changed, nor are RETRY
 * events that are claimed. A RETRY event keeps its status; it becomes due again with zero attempts
 * @param listener the name of the only listener that may receive the events, the value of header
 * {@link EventHeaders#REPLAY_TO}; null for the listener of their route, whatever its name
 * @param firstDue the due time of the first event
 * @param step the interval between the due times of consecutive events
 */
public record Replay(
        String requestId, Set<EventStatus> from, @Nullable String listener, Instant firstDue, Duration step) {

    /** The smallest step. It gives events that are replayed together different due times. */
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

    /** Replays dead events to the listener of their route, without a pause between them. */
    public static Replay dead(String requestId, Instant now) {
        return new Replay(requestId, Set.of(EventStatus.DEAD), null, now, NO_PAUSE);
    }

    /** Returns the due time of the event with the given index. */
    public Instant dueAt(int index) {
        return firstDue.plus(step.multipliedBy(index));
    }

    /**
     * Returns the headers with the marks of this replay and without those of an earlier replay. Headers that cannot
     * be parsed are returned unchanged.
     */
    public @Nullable String mark(@Nullable String headersJson) {
        Map<String, String> headers;
        try {
            headers = new LinkedHashMap<>(JsonCodec.parseObject(headersJson));
        } catch (IllegalArgumentException e) {
            return headersJson;
        }
        headers.put(EventHeaders.REPLAY, requestId);
        headers.remove(EventHeaders.REPLAY_TO);
        if (listener != null) {
            headers.put(EventHeaders.REPLAY_TO, listener);
        }
        return JsonCodec.toJson(headers);
    }
}
