package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.inbox.InboxException;

/**
 * An entry of an inbox. Its values are checked so that no database truncates them or treats two different ones
 * as equal.
 */
record InboxEntry(String consumer, String eventId, @Nullable String eventType) {

    private static final int MAX_TYPE = 64;

    /**
     * @throws IllegalArgumentException if this event cannot be stored
     * @throws InboxException if no event can be stored, because the name of the consumer is invalid
     */
    static InboxEntry of(InboxLayout layout, String consumer, String eventId, @Nullable String eventType) {
        try {
            checkConsumer(layout, consumer);
        } catch (IllegalArgumentException e) {
            throw new InboxException(
                    "The name of the consumer does not fit layout " + layout + ": " + e.getMessage(), e);
        }
        check("eventId", eventId, layout.maxEventId());
        if (layout.keepsType()) {
            if (eventType == null) {
                throw new IllegalArgumentException(
                        "Layout " + layout + " keeps the type of each event: give it to Inbox.handle");
            }
            check("eventType", eventType, MAX_TYPE);
        }
        return new InboxEntry(consumer, eventId, eventType);
    }

    static void checkConsumer(InboxLayout layout, String consumer) {
        check("consumer", consumer, layout.maxConsumer());
    }

    /** Refuses trailing spaces, because MySQL ignores them when it compares texts. */
    private static void check(String name, String value, int maxLength) {
        if (value.isEmpty() || value.length() > maxLength) {
            throw new IllegalArgumentException(
                    name + " must have 1 to " + maxLength + " characters, but has " + value.length());
        }
        if (!value.strip().equals(value) || value.chars().anyMatch(Character::isISOControl)) {
            throw new IllegalArgumentException(
                    name + " must neither begin nor end with a space, nor contain control characters");
        }
    }

    @Override
    public String toString() {
        return "event " + eventId + " of consumer " + consumer;
    }
}
