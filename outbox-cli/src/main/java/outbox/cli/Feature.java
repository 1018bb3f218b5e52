package outbox.cli;

import outbox.cli.doctor.Subject;
import outbox.cli.doctor.TableKind;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.LayoutSchema;
import outbox.jdbc.OutboxSchema;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** What a table can do beyond the plain outbox, each by a migration of its own. */
enum Feature {
    /** Delivery in order per aggregate. */
    ORDER("seq"),
    /** Keys, deadlines, priorities. */
    CONTROL("expires_at"),
    /** Pauses for all nodes. */
    PAUSES("outbox_pause"),
    /** The history of attempts. */
    ATTEMPTS("outbox_attempt"),
    /** The inbox of consumers. */
    INBOX("outbox_inbox"),
    /** Reconcile jobs for all nodes, and their history. */
    RECONCILE("outbox_reconcile"),
    /** One leader at a time on H2, which has no locks of sessions. */
    LEADER("outbox_leader"),
    /** The trace of the writer in a module's table. */
    TRACE("traceparent");

    private final String column;

    Feature(String column) {
        this.column = column;
    }

    /**
     * The columns, and the tables beside, by which features are known to be there, each with the name of its feature.
     */
    static Map<String, String> columns(Collection<Feature> features, String database) {
        Map<String, String> columns = new LinkedHashMap<>();
        features.stream()
                .filter(feature -> feature != LEADER || database.equals("h2")) // others need none
                .forEach(feature -> feature.places()
                        .forEach(place -> columns.put(place, feature.name().toLowerCase(Locale.ROOT))));
        return columns;
    }

    private Stream<String> places() {
        return this == CONTROL ? Stream.of(column, "outbox_key") : Stream.of(column);
    }

    /** @throws SettingsException if tables of this kind cannot have it */
    void check(TableKind kind) {
        boolean fits = switch (this) {
            case ORDER, CONTROL, PAUSES, ATTEMPTS, INBOX, RECONCILE -> kind == TableKind.EVENT;
            case TRACE -> kind == TableKind.MODULE;
            case LEADER -> true;
        };
        if (!fits) {
            throw new SettingsException("A table of layout " + kind + " cannot have " + name().toLowerCase(Locale.ROOT)
                    + "; take it out of the list.");
        }
    }

    /** The statements that add it to a table whose database is the given store's. */
    List<String> statements(AbstractJdbcEventStore store) {
        return switch (this) {
            case ORDER -> OutboxSchema.statements(store, Capability.ORDER);
            case CONTROL -> OutboxSchema.statements(store, Capability.CONTROL);
            case PAUSES -> OutboxSchema.statements(store, Capability.PAUSES);
            case ATTEMPTS -> OutboxSchema.statements(store, Capability.ATTEMPTS);
            case INBOX -> OutboxSchema.statements(store, Capability.INBOX);
            case RECONCILE -> OutboxSchema.statements(store, Capability.RECONCILE);
            case LEADER -> OutboxSchema.leaderStatements(store);
            case TRACE -> SchemaScript.trace(store);
        };
    }

    void create(Database database, Subject subject) {
        AbstractJdbcEventStore store = database.store(subject.table());
        switch (this) {
            case ORDER -> OutboxSchema.create(database, store, Capability.ORDER);
            case CONTROL -> OutboxSchema.create(database, store, Capability.CONTROL);
            case PAUSES -> OutboxSchema.create(database, store, Capability.PAUSES);
            case ATTEMPTS -> OutboxSchema.create(database, store, Capability.ATTEMPTS);
            case INBOX -> OutboxSchema.create(database, store, Capability.INBOX);
            case RECONCILE -> OutboxSchema.create(database, store, Capability.RECONCILE);
            case LEADER -> OutboxSchema.createLeader(database, store);
            case TRACE -> LayoutSchema.addTrace(database, (LayoutEventStore) subject.store());
        }
    }
}
