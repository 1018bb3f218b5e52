package outbox;

/** Names a kind of aggregate. Together with the aggregate id it identifies the subject of an event. */
public interface AggregateType {

    /** The aggregate type of an event for which none was set. */
    AggregateType GLOBAL = StringAggregateType.of("__GLOBAL__");

    /**
     * The name used for storage and routing; at most {@value EventEnvelope#MAX_AGGREGATE_TYPE_LENGTH} characters.
     */
    String name();
}
