package outbox;

/** Names a kind of event. An enum can implement it without a line of code. */
public interface EventType {

    /** The name that is stored and routed by; at most {@value EventEnvelope#MAX_EVENT_TYPE_LENGTH} characters. */
    String name();
}
