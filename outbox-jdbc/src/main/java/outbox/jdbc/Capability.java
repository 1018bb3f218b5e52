package outbox.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * An optional feature of an outbox. Each has its own migration, so that a table has only the columns, indexes and
 * side tables of the features that are used.
 */
public enum Capability {
    /** Delivery in order per aggregate. */
    ORDER("META-INF/outbox/schema-order/%s/V2__outbox_order.sql", "seq"),
    /** Keys: at most one unfinished event has a given key. Two columns and a side table. */
    KEYS("META-INF/outbox/schema-keys/%s/V10__outbox_key.sql", "dedup_ms"),
    /** Priorities: a column with an index, and on H2, MySQL and MariaDB a generated column. */
    PRIORITY("META-INF/outbox/schema-priority/%s/V3__outbox_priority.sql", "priority"),
    /** Deadlines: a column with an index. */
    DEADLINES("META-INF/outbox/schema-deadlines/%s/V8__outbox_deadline.sql", "expires_at"),
    /** Pauses, in a side table. */
    PAUSES("META-INF/outbox/schema-control/%s/V4__outbox_pause.sql", null),
    /** The history of attempts, in a side table. Nodes begin to use it within a minute. */
    ATTEMPTS("META-INF/outbox/schema-control/%s/V5__outbox_attempt.sql", null),
    /** The inbox of consumers, in a side table; {@link OutboxSchema#createInbox} creates one without an outbox. */
    INBOX("META-INF/outbox/schema-inbox/%s/V7__outbox_inbox.sql", null),
    /** Reconcile jobs that run on one node at a time, and the history of their runs, in two side tables. */
    RECONCILE("META-INF/outbox/schema-reconcile/%s/V9__outbox_reconcile.sql", null);

    private final String resource;
    private final @Nullable String column;

    Capability(String resource, @Nullable String column) {
        this.resource = resource;
        this.column = column;
    }

    /** Returns the path of the migration for the store with the given name. */
    String resource(String storeName) {
        return resource.formatted(storeName);
    }

    /** Returns a column that the migration adds to the table of events, or null if it only creates side tables. */
    @Nullable
    String column() {
        return column;
    }

    /**
     * Returns an exception for a table that lacks a column of this capability. Its message says how to add
     * the column.
     */
    EventStoreException missingIn(AbstractJdbcEventStore store, String missing, String consequence) {
        return new EventStoreException(
                "Table " + store.table() + " has no column " + missing + ", so " + consequence
                        + ". Add it by OutboxSchema.create with Capability." + name() + ", or as in "
                        + resource(store.dialect().schemaName()) + " of outbox-jdbc.",
                null);
    }
}
