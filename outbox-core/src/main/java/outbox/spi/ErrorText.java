package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.PayloadMask;
import outbox.model.OutboxEvent;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Creates the text stored in {@code last_error} from an exception. Every database can store the text, and it is safe
 * to display.
 */
public final class ErrorText {

    /** The maximum length in characters. */
    public static final int MAX_LENGTH = 4000;

    private ErrorText() {}

    /**
     * Describes any throwable, even if it has no message, a huge message, a cycle of causes, or a {@code getMessage}
     * that throws.
     */
    public static String of(Throwable error) {
        StringBuilder text = new StringBuilder(describe(error));
        Throwable cause = causeOf(error);
        for (int depth = 0; depth < 5 && cause != null && text.length() < MAX_LENGTH; depth++) {
            text.append("; caused by ").append(describe(cause));
            cause = causeOf(cause);
        }
        return clean(text.toString());
    }

    /**
     * Describes why an event failed, without its payload, which a listener or a receiver may have copied into the
     * message. Text that also occurs in the payload is replaced by {@code [payload]}: sequences of 12 or more
     * characters, and a shorter payload as a whole. White space, quotes and backslashes are not compared, so the
     * payload is found in compact, pretty-printed or escaped form. Event id, event type and aggregate id are kept.
     */
    public static String of(EventEnvelope event, Throwable error) {
        return PayloadMask.hide(
                of(error), event.payloadJson(), known(event.eventId(), event.eventType(), event.aggregateId()));
    }

    /** Hides the payload of a stored event in a text, by the rules of {@link #of(EventEnvelope, Throwable)}. */
    public static String withoutPayload(OutboxEvent event, String text) {
        byte[] bytes = event.payloadBytes();
        String payload = bytes != null ? new String(bytes, StandardCharsets.UTF_8) : event.payloadJson();
        return PayloadMask.hide(text, payload, known(event.eventId(), event.eventType(), event.aggregateId()));
    }

    private static List<String> known(String eventId, String eventType, @Nullable String aggregateId) {
        return aggregateId == null ? List.of(eventId, eventType) : List.of(eventId, eventType, aggregateId);
    }

    /**
     * Truncates the text to {@link #MAX_LENGTH} characters at a code point boundary. Replaces characters that a
     * database may reject: NUL, other control characters, unpaired surrogates.
     */
    public static String clean(String text) {
        StringBuilder clean = new StringBuilder(Math.min(text.length(), MAX_LENGTH));
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            i += Character.charCount(c);
            boolean kept =
                    c == '\n' || c == '\t' || !Character.isISOControl(c) && Character.getType(c) != Character.SURROGATE;
            int shown = kept ? c : '?';
            if (clean.length() + Character.charCount(shown) > MAX_LENGTH) {
                break;
            }
            clean.appendCodePoint(shown);
        }
        return clean.toString();
    }

    private static String describe(Throwable error) {
        String name = error.getClass().getName();
        try {
            String message = error.getMessage();
            if (message == null) {
                return name;
            }
            return name + ": " + message.substring(0, Math.min(message.length(), MAX_LENGTH));
        } catch (Throwable hostile) {
            return name + " (its message cannot be read: " + hostile.getClass().getName() + ")";
        }
    }

    private static @Nullable Throwable causeOf(Throwable error) {
        try {
            return error.getCause();
        } catch (Throwable hostile) {
            return null;
        }
    }
}
