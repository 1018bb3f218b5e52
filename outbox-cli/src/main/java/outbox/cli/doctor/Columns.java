package outbox.cli.doctor;

import java.util.List;

/**
 * The parts of an outbox table that the checks ask about.
 *
 * @param required columns that the table must have
 * @param type column of the event type
 * @param pending condition of events that are not finished
 * @param order column that comes after available_at in the order of a claim
 * @param audit table beside it for audit records
 */
record Columns(List<String> required, String type, String pending, String order, String audit) {

    /** Of the table that the library ships. */
    static final Columns EVENT = new Columns(
            List.of(
                    "event_id",
                    "event_type",
                    "aggregate_type",
                    "aggregate_id",
                    "tenant_id",
                    "payload",
                    "headers",
                    "status",
                    "attempts",
                    "available_at",
                    "created_at",
                    "done_at",
                    "last_error",
                    "locked_by",
                    "locked_at"),
            "event_type",
            "status IN (0, 2)",
            "created_at",
            "outbox_audit");
}
