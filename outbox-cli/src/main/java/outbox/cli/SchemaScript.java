package outbox.cli;

import outbox.cli.doctor.TableKind;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.LayoutSchema;
import outbox.jdbc.OutboxSchema;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The DDL of a table with its features, from the files of the library. It needs no database. */
final class SchemaScript {

    private static final Pattern CREATED = Pattern.compile("CREATE TABLE (?:IF NOT EXISTS )?([\\w.]+)");

    private SchemaScript() {}

    /** The complete script, with the audit table and the table of attempt limits. */
    static String of(AbstractJdbcEventStore store, TableKind kind, List<Feature> features, boolean isPartitioned) {
        List<String> statements = new ArrayList<>();
        if (kind == TableKind.EVENT) {
            statements.addAll(OutboxSchema.statements(store));
            if (!features.contains(Feature.PAUSES)) {
                // so that delivery can be paused
                statements.addAll(OutboxSchema.statements(store, Capability.PAUSES));
            }
        } else {
            statements.addAll(read(store, file(kind, isPartitioned)));
            OutboxSchema.statements(store).stream()
                    .filter(statement -> statement.contains("outbox_audit"))
                    .forEach(statements::add);
            if (kind == TableKind.MODULE) {
                statements.addAll(read(store, "schema-module/%s/V3__outbox_attempt_limit.sql"));
            }
        }
        features.forEach(feature -> statements.addAll(feature.statements(store)));
        return String.join(";\n\n", statements) + ";";
    }

    /**
     * Drops the objects that {@link #of} creates, in reverse order. For tables that are not named after this one it
     * writes only comments: other outbox tables of the schema may use them, and the audit table is a record of
     * changes.
     */
    static String down(AbstractJdbcEventStore store, TableKind kind, List<Feature> features, boolean isPartitioned) {
        List<String> tables = CREATED.matcher(of(store, kind, features, isPartitioned))
                .results()
                .map(created -> created.group(1))
                .collect(Collectors.toCollection(ArrayList::new));
        Collections.reverse(tables);
        StringBuilder script = new StringBuilder("-- Destroys events, also those that were not delivered yet.\n");
        for (String table : tables) {
            boolean isOwn = table.startsWith(store.table().value());
            script.append(isOwn ? "" : "-- ")
                    .append("DROP TABLE IF EXISTS ")
                    .append(table)
                    .append(";\n");
        }
        return script.toString().stripTrailing();
    }

    private static String file(TableKind kind, boolean isPartitioned) {
        if (kind == TableKind.TEXT_STATUS) {
            return "schema-text-status/%s/V1__outbox_events.sql";
        }
        return isPartitioned
                ? "schema-module/%s/V1__module_outbox_partitioned.sql"
                : "schema-module/%s/V1__module_outbox.sql";
    }

    static List<String> trace(AbstractJdbcEventStore store) {
        return read(store, "schema-module/%s/V2__module_trace.sql");
    }

    private static List<String> read(AbstractJdbcEventStore store, String file) {
        try {
            return Arrays.stream(LayoutSchema.script(store, file).split(";"))
                    .map(String::strip)
                    .filter(statement -> !statement.isEmpty())
                    .toList();
        } catch (IllegalArgumentException e) {
            throw new SettingsException(
                    "There is no DDL of this layout for " + store.name() + ". Use --layout EVENT, or PostgreSQL.");
        }
    }
}
