package outbox.cli.doctor;

import outbox.model.EventStatus;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** The kinds of outbox tables that the command recognizes by their columns, and their SQL conditions. */
public enum TableKind {
    /** The table of the library, and the one of the specification. */
    EVENT("event_type", "available_at", "created_at", "done_at"),
    /** A module's table: published_at and attempts define the state. */
    MODULE("topic", "available_at", "sequence", "published_at"),
    /** A table with text values in the status column and without columns for claims. */
    TEXT_STATUS("event_type", "next_retry_time", "id", "update_time");

    private final String type;
    private final String due;
    private final String order;
    private final String end;

    TableKind(String type, String due, String order, String end) {
        this.type = type;
        this.due = due;
        this.order = order;
        this.end = end;
    }

    /** The kind of a table with these columns; empty if they match none. */
    static Optional<TableKind> of(Set<String> columns) {
        return Arrays.stream(values())
                .filter(kind -> columns.containsAll(kind.columns()))
                .findFirst();
    }

    /** The kind that is assumed from the name of a table that does not exist or cannot be read. */
    public static TableKind named(String table) {
        String name = table.substring(table.indexOf('.') + 1).toLowerCase(Locale.ROOT);
        if (name.endsWith("_outbox")) {
            return MODULE;
        }
        return name.equals("outbox_events") ? TEXT_STATUS : EVENT;
    }

    /** The columns that a table of this kind must have. */
    public List<String> columns() {
        return switch (this) {
            case EVENT ->
                split("event_id event_type aggregate_type aggregate_id tenant_id payload headers status "
                        + "attempts available_at created_at done_at last_error locked_by locked_at");
            case MODULE ->
                split("id tenant_id topic payload event_id sequence created_at published_at attempts "
                        + "available_at locked_at last_error");
            case TEXT_STATUS ->
                split("id event_id event_type aggregate_type aggregate_id payload status retry_count "
                        + "next_retry_time create_time update_time");
        };
    }

    private static List<String> split(String columns) {
        return List.of(columns.split(" "));
    }

    /** The column of the event type. */
    public String type() {
        return type;
    }

    /** The column of the due time. */
    public String due() {
        return due;
    }

    /** The second column in the order of a claim, after the due time. */
    String order() {
        return order;
    }

    /** The column with the time when an event ended; dead events of a module have no such time. */
    public String end() {
        return end;
    }

    /** The column that defines the age of a finished event. */
    public String ageOf(EventStatus terminal) {
        return this == MODULE && terminal == EventStatus.DEAD ? "created_at" : end;
    }

    public String created() {
        return this == TEXT_STATUS ? "create_time" : "created_at";
    }

    String attempts() {
        return this == TEXT_STATUS ? "retry_count" : "attempts";
    }

    boolean hasClaims() {
        return this != TEXT_STATUS;
    }

    public boolean hasErrors() {
        return this != TEXT_STATUS;
    }

    /** SQL condition: the event has this status. */
    public String is(EventStatus status, int maxAttempts) {
        return switch (this) {
            case EVENT -> "status = " + status.code();
            case TEXT_STATUS ->
                switch (status) {
                    case NEW -> "status = 'NEW'";
                    case DONE -> "status = 'SENT'";
                    case RETRY -> "status = 'RETRY'";
                    case DEAD -> "status = 'FAILED'";
                };
            case MODULE ->
                switch (status) {
                    case NEW -> "published_at IS NULL AND attempts = 0";
                    case DONE -> "published_at IS NOT NULL";
                    case RETRY -> "published_at IS NULL AND attempts BETWEEN 1 AND " + (maxAttempts - 1);
                    case DEAD -> "published_at IS NULL AND attempts >= " + maxAttempts;
                };
        };
    }

    /** SQL condition: the event is neither delivered nor dead. */
    public String pending(int maxAttempts) {
        return switch (this) {
            case EVENT -> "status IN (0, 2)";
            case TEXT_STATUS -> "status IN ('NEW', 'RETRY')";
            case MODULE -> "published_at IS NULL AND attempts < " + maxAttempts;
        };
    }

    /** The indexes that the table needs. */
    List<IndexNeed> indexes(boolean isPostgres, Queries table) {
        return switch (this) {
            case EVENT -> IndexNeed.ofEvents(isPostgres, table);
            case MODULE ->
                List.of(
                        IndexNeed.ofEventId(),
                        IndexNeed.of("the claim", List.of("available_at", "sequence")),
                        IndexNeed.of("the purge", List.of("published_at", "sequence")));
            case TEXT_STATUS ->
                List.of(IndexNeed.ofEventId(), IndexNeed.of("the claim", List.of("status", "next_retry_time")));
        };
    }
}
