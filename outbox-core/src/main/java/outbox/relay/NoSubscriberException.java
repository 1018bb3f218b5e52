package outbox.relay;

import outbox.OutboxException;
import outbox.internal.EventRules;

/**
 * An event came for a topic to which nobody has subscribed. An error, because an event that nobody receives would be
 * lost in silence.
 */
public final class NoSubscriberException extends OutboxException {

    /** Does not change between versions; the message begins with it, and so does {@code last_error} after the type. */
    public static final String CODE = "EVENTBUS_NO_SUBSCRIBERS";

    private static final long serialVersionUID = 1L;

    private final String topic;

    NoSubscriberException(String topic) {
        super(
                CODE + ": Nobody has subscribed to topic " + EventRules.show(topic)
                        + " on this event bus. Subscribe before the relay starts.",
                null);
        this.topic = topic;
    }

    public String topic() {
        return topic;
    }

    public String code() {
        return CODE;
    }
}
