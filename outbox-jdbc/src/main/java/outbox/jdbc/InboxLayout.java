package outbox.jdbc;

import java.util.List;

/** The tables that an inbox can live in. */
public enum InboxLayout {
    /** Ours: a row for each consumer and event. */
    INBOX("outbox_inbox", "handled_at", 128, 255),
    /** The table {@code event_consume_log}: a row for each event, so that only one consumer can handle it. It keeps the type of the event. */
    CONSUME_LOG("event_consume_log", "consume_time", 64, 64);

    private final String defaultTable;
    private final String timeColumn;
    private final int maxConsumer;
    private final int maxEventId;

    InboxLayout(String defaultTable, String timeColumn, int maxConsumer, int maxEventId) {
        this.defaultTable = defaultTable;
        this.timeColumn = timeColumn;
        this.maxConsumer = maxConsumer;
        this.maxEventId = maxEventId;
    }

    String defaultTable() {
        return defaultTable;
    }

    /** When the event was handled. */
    String timeColumn() {
        return timeColumn;
    }

    int maxConsumer() {
        return maxConsumer;
    }

    int maxEventId() {
        return maxEventId;
    }

    boolean keepsType() {
        return this == CONSUME_LOG;
    }

    List<String> columns() {
        return keepsType()
                ? List.of("consumer", "event_id", "event_type", timeColumn)
                : List.of("consumer", "event_id", timeColumn);
    }

    /** What makes a row the only one of its kind. */
    String key() {
        return this == CONSUME_LOG ? "event_id" : "consumer, event_id";
    }

    /** Where the statements that create such a table are, for the store of the given name. */
    String resource(String storeName) {
        return (this == CONSUME_LOG
                        ? "META-INF/outbox/schema-text-status/%s/V2__event_consume_log.sql"
                        : "META-INF/outbox/schema-inbox/%s/V7__outbox_inbox.sql")
                .formatted(storeName);
    }
}
