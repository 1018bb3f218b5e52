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

/** Optional features of a table. Each has its own migration. */
enum Feature {
    /** Delivery in order per aggregate. */
    ORDER("seq"),
    /** At most one unfinished event per key. */
    KEYS("dedup_ms"),
    /** Events that are delivered before others. */
    PRIORITY("priority"),
    /** Events that are not delivered after a time. */
    DEADLINES("expires_at"),
    /** Pauses for all nodes. */
    PAUSES("outbox_pause"),
    /** The history of attempts. */
    ATTEMPTS("outbox_attempt"),
    /** The inbox of consumers. */
    INBOX("outbox_inbox"),
    /** Reconcile jobs for all nodes, and their history. */
    RECONCILE("outbox_reconcile"),
    /** One leader at a time on H2, which has no session locks. */
    LEADER("outbox_leader"),
    /** The trace context of the writer in a module's table. */
    TRACE("traceparent");

    private final String column;

    Feature(String column) {
        this.column = column;
    }

    /**
     * The columns and side tables that show whether the features are installed, each with the name of its feature.
     */
    static Map<String, String> columns(Collection<Feature> features, String database) {
        Map<String, String> columns = new LinkedHashMap<>();
        features.stream()
                // other databases need no table for the leader
                .filter(feature -> feature != LEADER || database.equals("h2"))
                .forEach(feature -> feature.places()
                        .forEach(place -> columns.put(place, feature.name().toLowerCase(Locale.ROOT))));
        return columns;
    }

    private Stream<String> places() {
        return this == KEYS ? Stream.of(column, "outbox_key") : Stream.of(column);
    }

    /** @throws SettingsException if tables of this kind cannot have the feature */
    void check(TableKind kind) {
        boolean fits = switch (this) {
            case ORDER, KEYS, PRIORITY, DEADLINES, PAUSES, ATTEMPTS, INBOX, RECONCILE -> kind == TableKind.EVENT;
            case TRACE -> kind == TableKind.MODULE;
            case LEADER -> true;
        };
        if (!fits) {
            throw new SettingsException("A table of layout " + kind + " cannot have " + name().toLowerCase(Locale.ROOT)
                    + "; take it out of the list.");
        }
    }

    /** The statements that add the feature to the table of the store. */
    List<String> statements(AbstractJdbcEventStore store) {
        return switch (this) {
            case LEADER -> OutboxSchema.leaderStatements(store);
            case TRACE -> SchemaScript.trace(store);
            default -> OutboxSchema.statements(store, Capability.valueOf(name()));
        };
    }

    void create(Database database, Subject subject) {
        AbstractJdbcEventStore store = database.store(subject.table());
        switch (this) {
            case LEADER -> OutboxSchema.createLeader(database, store);
            case TRACE -> LayoutSchema.addTrace(database, (LayoutEventStore) subject.store());
            default -> OutboxSchema.create(database, store, Capability.valueOf(name()));
        }
    }
}
