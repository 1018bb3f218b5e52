package outbox;

/** Names a kind of event. An enum can implement it without additional code. */
public interface EventType {

    /** The name used for storage and routing; at most {@value EventEnvelope#MAX_EVENT_TYPE_LENGTH} characters. */
    String name();
}
