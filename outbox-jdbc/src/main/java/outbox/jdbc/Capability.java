package outbox.jdbc;

/** What a table can do beyond the plain outbox. Each is a migration of its own, because its columns and indexes are of use to those who ask for it only. */
public enum Capability {
    /** Delivery in order per aggregate. */
    ORDER("META-INF/outbox/schema-order/%s/V2__outbox_order.sql", "seq"),
    /** Delivery control: keys, deadlines, priorities. */
    CONTROL("META-INF/outbox/schema-control/%s/V3__outbox_control.sql", "expires_at");

    private final String resource;
    private final String column;

    Capability(String resource, String column) {
        this.resource = resource;
        this.column = column;
    }

    /** Where its migration is, for the store of the given name. */
    String resource(String storeName) {
        return resource.formatted(storeName);
    }

    /** The column by which a table is known to have it. */
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
