package outbox.cli.doctor;

import outbox.model.EventStatus;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** The kinds of outbox tables that the command knows by their columns, and how it asks about them. */
public enum TableKind {
    /** The table that the library ships, and that of the specification. */
    EVENT("event_type", "available_at", "created_at", "done_at"),
    /** A module's table: state by published_at and attempts. */
    MODULE("topic", "available_at", "sequence", "published_at"),
    /** The table with texts for the status, and no place for claims. */
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

    /** The kind of a table with these columns; empty if it is none. */
    static Optional<TableKind> of(Set<String> columns) {
        return Arrays.stream(values())
                .filter(kind -> columns.containsAll(kind.columns()))
                .findFirst();
    }

    /** The kind that a table of this name is taken for while it is not there. */
    public static TableKind named(String table) {
        String name = table.substring(table.indexOf('.') + 1).toLowerCase(Locale.ROOT);
        if (name.endsWith("_outbox")) {
            return MODULE;
        }
        return name.equals("outbox_events") ? TEXT_STATUS : EVENT;
    }

    /** What a table of this kind must have. */
    public List<String> columns() {
        return switch (this) {
            case EVENT ->
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
                        "locked_at");
            case MODULE ->
                List.of(
                        "id",
                        "tenant_id",
                        "topic",
                        "payload",
                        "event_id",
                        "sequence",
                        "created_at",
                        "published_at",
                        "attempts",
                        "available_at",
                        "locked_at",
                        "last_error");
            case TEXT_STATUS ->
                List.of(
                        "id",
                        "event_id",
                        "event_type",
                        "aggregate_type",
                        "aggregate_id",
                        "payload",
                        "status",
                        "retry_count",
                        "next_retry_time",
                        "create_time",
                        "update_time");
        };
    }

    /** The column of the event type. */
    public String type() {
        return type;
    }

    /** The column of the due time. */
    public String due() {
        return due;
    }

    /** The column that comes after the due time in the order of a claim. */
    String order() {
        return order;
    }

    /** The column that tells when an event ended; a dead one of a module has none. */
    public String end() {
        return end;
    }

    /** The column by which the age of a finished event is told. */
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

    /** The condition that an event has a status. */
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

    /** The condition that an event is neither delivered nor dead. */
    public String pending(int maxAttempts) {
        return switch (this) {
            case EVENT -> "status IN (0, 2)";
            case TEXT_STATUS -> "status IN ('NEW', 'RETRY')";
            case MODULE -> "published_at IS NULL AND attempts < " + maxAttempts;
        };
    }

    /** Indexes, each by what it is for and how it may begin. */
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
