package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.model.EventStatus;

import java.time.Instant;

/**
 * An event in an outbox, in its current state, as a test sees it.
 *
 * @param availableAt the time from which the event is due
 * @param error the last error, or null
 * @param listener the name of the listener for such events: its own name, or {@code aggregateType:eventType} if it
 *     has none; null if there is no listener
 */
public record WrittenEvent(
        EventEnvelope envelope,
        EventStatus status,
        int attempts,
        Instant availableAt,
        @Nullable String error,
        @Nullable String listener) {

    public String eventType() {
        return envelope.eventType();
    }

    /** Returns the payload as text, or its size if it is binary. */
    String payload() {
        return envelope.isBinary() ? envelope.payloadSize() + " bytes" : envelope.payloadJson();
    }

    /** Includes the payload, because a test needs to see it. */
    @Override
    public String toString() {
        String aggregate =
                envelope.aggregateId() == null ? "" : " of " + envelope.aggregateType() + " " + envelope.aggregateId();
        String runs =
                attempts == 0 ? "" : " after " + attempts + (attempts == 1 ? " failed attempt" : " failed attempts");
        return envelope.eventType() + aggregate + ", " + status + runs + ", payload " + payload()
                + (envelope.headers().isEmpty() ? "" : ", headers " + envelope.headers())
                + (error == null ? "" : ", error: " + firstLine(error));
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }
}
