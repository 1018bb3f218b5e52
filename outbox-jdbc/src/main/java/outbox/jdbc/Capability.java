package outbox.jdbc;

import org.jspecify.annotations.Nullable;

/** What an outbox can do beyond the plain one. Each is a migration of its own, because its columns, indexes or table are of use to those who ask for it only. */
public enum Capability {
    /** Delivery in order per aggregate. */
    ORDER("META-INF/outbox/schema-order/%s/V2__outbox_order.sql", "seq"),
    /** Delivery control: keys, deadlines, priorities. Two migrations: the columns, and a side table for keys. */
    CONTROL(
            "META-INF/outbox/schema-control/%s/V3__outbox_control.sql",
            "META-INF/outbox/schema-control/%s/V10__outbox_key.sql", "expires_at"),
    /** Pauses, in a table beside. */
    PAUSES("META-INF/outbox/schema-control/%s/V4__outbox_pause.sql", null),
    /** The history of attempts, in a table beside; nodes begin to use it within a minute. */
    ATTEMPTS("META-INF/outbox/schema-control/%s/V5__outbox_attempt.sql", null),
    /** The inbox of consumers, in a table beside; {@link OutboxSchema#createInbox} creates one without an outbox. */
    INBOX("META-INF/outbox/schema-inbox/%s/V7__outbox_inbox.sql", null),
    /** Reconcile jobs that run on one node at a time, and the history of their runs, in two tables beside. */
    RECONCILE("META-INF/outbox/schema-reconcile/%s/V9__outbox_reconcile.sql", null);

    private final String resource;
    private final String lastResource;
    private final @Nullable String column;

    Capability(String resource, @Nullable String column) {
        this(resource, resource, column);
    }

    Capability(String resource, String lastResource, @Nullable String column) {
        this.resource = resource;
        this.lastResource = lastResource;
        this.column = column;
    }

    /** Where its migration is, for the store of the given name; the first one if there are two. */
    String resource(String storeName) {
        return resource.formatted(storeName);
    }

    /** Where its last migration is; the same if there is only one. */
    String lastResource(String storeName) {
        return lastResource.formatted(storeName);
    }

    /** The column by which a table is known to have it; null if it is a table of its own, which says itself whether it is there. */
    @Nullable
    String column() {
        return column;
    }

    /** What to do about a table that lacks a column of it. */
    EventStoreException missingIn(AbstractJdbcEventStore store, String missing, String consequence) {
        return new EventStoreException(
                "Table " + store.table() + " has no column " + missing + ", so " + consequence
                        + ". Add it by OutboxSchema.create with Capability." + name() + ", or as in "
                        + resource(store.name()) + " of outbox-jdbc.",
                null);
    }
}
