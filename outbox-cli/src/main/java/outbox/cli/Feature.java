package outbox.cli;

import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.OutboxSchema;

import java.util.List;
import javax.sql.DataSource;

/** What a table can do beyond the plain outbox, each by a migration of its own. */
enum Feature {
    ORDER("seq"),
    CONTROL("expires_at"),
    PAUSES("outbox_pause"),
    ATTEMPTS("outbox_attempt");

    private final String column;

    Feature(String column) {
        this.column = column;
    }

    /** The column, or the table beside, by which it is known to be there. */
    String column() {
        return column;
    }

    List<String> statements(AbstractJdbcEventStore store) {
        return switch (this) {
            case ORDER -> OutboxSchema.statements(store, Capability.ORDER);
            case CONTROL -> OutboxSchema.statements(store, Capability.CONTROL);
            case PAUSES -> OutboxSchema.pauseStatements(store);
            case ATTEMPTS -> OutboxSchema.attemptStatements(store);
        };
    }

    void create(DataSource database, AbstractJdbcEventStore store) {
        switch (this) {
            case ORDER -> OutboxSchema.create(database, store, Capability.ORDER);
            case CONTROL -> OutboxSchema.create(database, store, Capability.CONTROL);
            case PAUSES -> OutboxSchema.createPauses(database, store);
            case ATTEMPTS -> OutboxSchema.createAttempts(database, store);
        }
    }
}
