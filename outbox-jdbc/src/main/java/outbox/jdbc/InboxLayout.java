package outbox.jdbc;

import java.util.List;

/** The table layouts that an inbox supports. */
public enum InboxLayout {
    /** The layout of this library: one row per consumer and event. */
    INBOX("outbox_inbox", "handled_at", 128, 255),
    /**
     * The table {@code event_consume_log}: one row per event, so that only one consumer can handle it. It stores the
     * event type.
     */
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

    /** Returns the column with the time when the event was handled. */
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

    /** Returns the columns of the unique key. */
    String key() {
        return this == CONSUME_LOG ? "event_id" : "consumer, event_id";
    }

    /** Returns the path of the DDL for the store with the given name. */
    String resource(String storeName) {
        return (this == CONSUME_LOG
                        ? "META-INF/outbox/schema-text-status/%s/V2__event_consume_log.sql"
                        : "META-INF/outbox/schema-inbox/%s/V7__outbox_inbox.sql")
                .formatted(storeName);
    }
}
