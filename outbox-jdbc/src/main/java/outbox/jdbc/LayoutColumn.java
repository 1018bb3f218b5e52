package outbox.jdbc;

/** What a column of an outbox table is for, whatever its name. */
public enum LayoutColumn {
    /** The key by which receivers know a repetition; unique. Required. */
    EVENT_ID,
    /** The type or topic. Required. */
    EVENT_TYPE,
    AGGREGATE_TYPE,
    AGGREGATE_ID,
    TENANT_ID,
    /** Text or JSON. Required. */
    PAYLOAD,
    /** A JSON object of strings. */
    HEADERS,
    /** One value for each status. Without it, {@link #DONE_AT} and {@link #ATTEMPTS} tell. */
    STATUS,
    /** Failed attempts. Required. */
    ATTEMPTS,
    /** Due from then on. Required. */
    AVAILABLE_AT,
    /** When the row was inserted. Required. */
    CREATED_AT,
    /** When the event was delivered; where there is a status, also when it became dead. */
    DONE_AT,
    /** When the row was last changed. */
    UPDATED_AT,
    LAST_ERROR,
    /** The token of the claim. */
    LOCKED_BY,
    /** When the lease of the claim began; to the microsecond where there is no {@link #LOCKED_BY}. */
    LOCKED_AT,
    /** A number that grows with each row. */
    SEQUENCE,
    TRACE_PARENT,
    TRACE_STATE
}
