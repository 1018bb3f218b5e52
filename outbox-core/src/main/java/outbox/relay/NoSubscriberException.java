package outbox.relay;

import outbox.OutboxException;
import outbox.internal.EventRules;

/** An event came for a topic to which nobody has subscribed. An error, because an event that nobody receives would be lost in silence. */
public final class NoSubscriberException extends OutboxException {

    private static final long serialVersionUID = 1L;

    private final String topic;

    NoSubscriberException(String topic) {
        super(
                "Nobody has subscribed to topic " + EventRules.show(topic)
                        + " on this event bus. Subscribe before the relay starts.",
                null);
        this.topic = topic;
    }

    public String topic() {
        return topic;
    }
}
