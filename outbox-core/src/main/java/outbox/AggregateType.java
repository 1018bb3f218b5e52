package outbox;

/** Names a kind of aggregate: with the aggregate id it tells what an event is about. */
public interface AggregateType {

    /** The aggregate type of an event that names none. */
    AggregateType GLOBAL = StringAggregateType.of("__GLOBAL__");

    /** The name that is stored and routed by; at most {@value EventEnvelope#MAX_AGGREGATE_TYPE_LENGTH} characters. */
    String name();
}
