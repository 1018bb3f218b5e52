package outbox.jdbc.internal.schema;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The DDL files. They are templates with placeholders such as {@code ${table}}. The build also writes them with the
 * default names, next to the templates, for migration tools.
 */
public final class DdlFiles {

    private static final String SHIPPED = "META-INF/outbox/";
    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{(\\w+)}");

    /** A statement. A semicolon inside a dollar-quoted part does not end it. */
    private static final Pattern STATEMENT = Pattern.compile("(?:[^;$]++|\\$\\$.*?\\$\\$)+", Pattern.DOTALL);

    private DdlFiles() {}

    /**
     * Returns the names of an outbox table and its side tables.
     *
     * @param simple the name of the table without its schema
     * @param table the table of events, as statements name it
     * @param schema the schema of the side tables, followed by a dot; may be empty
     */
    public static Map<String, String> names(String simple, String table, String schema) {
        return Map.of(
                "table", table,
                "events", table,
                "prefix", simple,
                "events_prefix", simple,
                "schema", schema,
                "owner", simple.toLowerCase(Locale.ROOT),
                "inbox", schema + "outbox_inbox",
                "inbox_prefix", "outbox_inbox");
    }

    public static Map<String, String> names(String table) {
        int simple = table.indexOf('.') + 1;
        return names(table.substring(simple), table, table.substring(0, simple));
    }

    /** Returns the script of a file with these names inserted, including its comments. */
    public static String script(String resource, Map<String, String> names) {
        String template = read(resource.replaceFirst("^" + SHIPPED, SHIPPED + "ddl/"));
        Matcher placeholders = PLACEHOLDER.matcher(template);
        return placeholders.replaceAll(found -> {
            String value = names.get(found.group(1));
            if (value == null) {
                throw new IllegalArgumentException("Unknown placeholder " + found.group() + " in " + resource);
            }
            return Matcher.quoteReplacement(value);
        });
    }

    /** Returns the statements of a script, without comments. */
    public static List<String> statements(String script) {
        return STATEMENT
                .matcher(script.replaceAll("--[^\\n]*", ""))
                .results()
                .map(statement -> statement.group().strip())
                .filter(statement -> !statement.isEmpty())
                .toList();
    }

    public static String read(String resource) {
        try (InputStream in = DdlFiles.class.getClassLoader().getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalArgumentException("There is no DDL at " + resource + "; a dialect of your own brings"
                        + " its own, or names another one by schemaName");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
