package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.model.EventStatus;

import java.time.Instant;

/**
 * An event that a test finds in an outbox, as it is now.
 *
 * @param availableAt due from then on
 * @param error the last one, or null
 * @param listener the name of the listener that such events go to: its own, else {@code aggregateType:eventType}; null if there is none
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

    /** The payload as text; how many bytes it has if it is binary. */
    String payload() {
        return envelope.isBinary() ? envelope.payloadSize() + " bytes" : envelope.payloadJson();
    }

    /** With its payload: a test wants to see it. */
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
