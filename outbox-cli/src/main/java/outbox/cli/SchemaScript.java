package outbox.cli;

import outbox.cli.doctor.TableKind;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.OutboxSchema;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The DDL of a table with its features, from the files that the library ships, without asking a database. */
final class SchemaScript {

    private static final String DIRECTORY = "META-INF/outbox/";

    private static final Pattern CREATED = Pattern.compile("CREATE TABLE (?:IF NOT EXISTS )?([\\w.]+)");

    private SchemaScript() {}

    /** Complete, with the audit table and the limits of attempts next to it. */
    static String of(AbstractJdbcEventStore store, TableKind kind, List<Feature> features, boolean isPartitioned) {
        List<String> statements = new ArrayList<>();
        if (kind == TableKind.EVENT) {
            statements.addAll(OutboxSchema.statements(store));
            if (!features.contains(Feature.PAUSES)) {
                statements.addAll(OutboxSchema.statements(store, Capability.PAUSES)); // so that it can be paused
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
     * Drops what {@link #of} creates, the last first. Only comments for tables that are not named after this one: other
     * outbox tables of the schema may use them, and the audit records say who changed what.
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

    /** In the files the table is called {@code <module>_outbox} or {@code outbox_events}; what is named after it keeps its ending. */
    private static List<String> read(AbstractJdbcEventStore store, String file) {
        String resource = DIRECTORY + file.formatted(store.name());
        String simple = Matcher.quoteReplacement(store.table().simpleName());
        String table = store.table().value();
        String script = text(store, resource)
                .replace("<schema>", table.substring(0, table.indexOf('.') + 1))
                .replaceAll("(?:<module>_outbox|\\boutbox_events)_", simple + "_")
                .replaceAll("(?:<module>_outbox|\\boutbox_events)\\b", Matcher.quoteReplacement(table));
        return Arrays.stream(script.split(";"))
                .map(String::strip)
                .filter(statement -> !statement.isEmpty())
                .toList();
    }

    private static String text(AbstractJdbcEventStore store, String resource) {
        try (InputStream in = OutboxSchema.class.getClassLoader().getResourceAsStream(resource)) {
            if (in == null) {
                throw new SettingsException(
                        "There is no DDL of this layout for " + store.name() + ". Use --layout EVENT, or PostgreSQL.");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
