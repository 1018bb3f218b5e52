package outbox.jdbc;

import java.util.regex.Pattern;

/**
 * The checked name of a table, the only text besides our own that gets into SQL: letters, digits and underscores, with an optional schema.
 *
 * <p>It is not quoted, so that it means the same as in the user's own SQL, whatever case the database folds names to.
 */
public record TableName(String value) {

    private static final Pattern VALID =
            Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,62}\\.)?[A-Za-z_][A-Za-z0-9_]{0,62}");

    public TableName {
        if (!VALID.matcher(value).matches()) {
            throw new IllegalArgumentException(
                    "'" + value.replaceAll("[^ -~]", "?")
                            + "' is not a table name: use ASCII letters, digits and _, with an optional schema, as in billing.outbox_event");
        }
    }

    /** The name without its schema. */
    public String simpleName() {
        return value.substring(value.indexOf('.') + 1);
    }

    /** The table with the given name in the same schema. */
    TableName sibling(String name) {
        return new TableName(value.substring(0, value.indexOf('.') + 1) + name);
    }

    @Override
    public String toString() {
        return value;
    }
}
