package outbox;

/**
 * The names of the headers that the library sets or reads. Applications may set the two headers of the trace
 * context. All names that begin with {@link #RESERVED_PREFIX} are reserved for the library.
 */
public final class EventHeaders {

    /** Prefix of reserved header names. Application headers must not begin with it, in upper or lower case. */
    public static final String RESERVED_PREFIX = "outbox-";

    /** Holds {@link EventEnvelope#schemaVersion}, unless it is 1. */
    public static final String SCHEMA_VERSION = RESERVED_PREFIX + "schema-version";

    /** Holds {@link EventEnvelope#correlationId}. */
    public static final String CORRELATION_ID = RESERVED_PREFIX + "correlation-id";

    /** Holds {@link EventEnvelope#causationId}. */
    public static final String CAUSATION_ID = RESERVED_PREFIX + "causation-id";

    /**
     * The length of the chain of events that led to this one. Each of them was written while the previous one was
     * being delivered.
     */
    public static final String HOPS = RESERVED_PREFIX + "hops";

    /** Marks an event that is being replayed. The value is the id of the replay request. */
    public static final String REPLAY = RESERVED_PREFIX + "replay";

    /** The name of the only listener that may receive a replayed event. */
    public static final String REPLAY_TO = RESERVED_PREFIX + "replay-to";

    /** The table of an event, set when a relay delivers it. */
    public static final String TABLE = RESERVED_PREFIX + "table";

    /** The sequence number of an event in its table, if the table has sequence numbers. */
    public static final String SEQUENCE = RESERVED_PREFIX + "sequence";

    /** The number of the current attempt, counted from 1, set when a relay delivers the event. */
    public static final String ATTEMPTS = RESERVED_PREFIX + "attempts";

    /** {@link EventEnvelope#aggregateType} in a broker message. */
    public static final String AGGREGATE_TYPE = RESERVED_PREFIX + "aggregate-type";

    /** {@link EventEnvelope#aggregateId} in a broker message. */
    public static final String AGGREGATE_ID = RESERVED_PREFIX + "aggregate-id";

    /** {@link EventEnvelope#tenantId} in a broker message. */
    public static final String TENANT_ID = RESERVED_PREFIX + "tenant-id";

    /** The W3C trace context of the code that wrote the event. */
    public static final String TRACE_PARENT = "traceparent";

    /** The second header of the W3C trace context. */
    public static final String TRACE_STATE = "tracestate";

    private EventHeaders() {}
}
