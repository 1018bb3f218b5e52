package outbox.relay;

import outbox.OutboxException;
import outbox.internal.EventRules;

/**
 * An event has a topic without a subscriber. This is an error, because the event would otherwise be lost
 * without notice.
 */
public final class NoSubscriberException extends OutboxException {

    /**
     * The error code. It does not change between versions. The message begins with it, and {@code last_error}
     * contains it after the exception type.
     */
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
