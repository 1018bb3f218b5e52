package outbox.jdbc;

import outbox.Experimental;

/** The purpose of a column of an outbox table, independent of its name. */
@Experimental
public enum LayoutColumn {
    /** The unique id by which receivers detect duplicates. Required. */
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
    /**
     * One value for each status. Without this column, {@link #DONE_AT} and {@link #ATTEMPTS} determine the status.
     */
    STATUS,
    /** Failed attempts. Required. */
    ATTEMPTS,
    /** The time from which the event is due. Required. */
    AVAILABLE_AT,
    /** When the row was inserted. Required. */
    CREATED_AT,
    /** When the event was delivered. With a status column, also when it became dead. */
    DONE_AT,
    /** When the row was last changed. */
    UPDATED_AT,
    LAST_ERROR,
    /** The token of the claim. */
    LOCKED_BY,
    /** When the lease of the claim began. Without {@link #LOCKED_BY}, it needs a precision of microseconds. */
    LOCKED_AT,
    /** A number that increases with each row. */
    SEQUENCE,
    TRACE_PARENT,
    TRACE_STATE
}
