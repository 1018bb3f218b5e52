package outbox.admin;

import outbox.internal.Checks;
import outbox.internal.EventRules;

import java.time.Instant;
import java.time.format.DateTimeParseException;

/**
 * The position of an event in the order of a search. The next page starts after this event, even if events were
 * inserted or deleted meanwhile.
 */
public record EventCursor(Instant createdAt, String eventId) {

    public EventCursor {
        createdAt = Checks.time("createdAt of the cursor", createdAt);
        if (eventId.isEmpty() || eventId.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("eventId of the cursor must not be empty or contain NUL");
        }
    }

    /** Returns the cursor as text, for a link or a command line; {@link #parse} reads it. */
    public String text() {
        return createdAt + "/" + eventId;
    }

    /** Parses the result of {@link #text}; rejects any other text. */
    public static EventCursor parse(String text) {
        int slash = text.indexOf('/');
        try {
            return new EventCursor(Instant.parse(text.substring(0, Math.max(0, slash))), text.substring(slash + 1));
        } catch (DateTimeParseException e) {
            throw new IllegalArgumentException("Not a cursor: " + EventRules.show(text), e);
        }
    }
}
