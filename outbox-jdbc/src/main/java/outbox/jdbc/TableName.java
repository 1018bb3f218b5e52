package outbox.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * The checked name of a table: letters, digits and underscores, with an optional schema. It is the only external
 * text that is inserted into SQL.
 *
 * <p>It is not quoted, so that it means the same as in the user's own SQL, regardless of how the database
 * folds case.
 */
public record TableName(String value) {

    private static final Pattern VALID =
            Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,62}\\.)?[A-Za-z_][A-Za-z0-9_]{0,62}");

    public TableName {
        if (!VALID.matcher(value).matches()) {
            throw new IllegalArgumentException("'" + value.replaceAll("[^ -~]", "?")
                    + "' is not a table name: use ASCII letters, digits and _, with an optional schema, "
                    + "as in billing.outbox_event");
        }
    }

    /** Returns the name without its schema. */
    public String simpleName() {
        return value.substring(value.indexOf('.') + 1);
    }

    /**
     * Returns the name with its schema or database, independent of the spelling; metrics use this name. On
     * PostgreSQL the schema comes from the search path. On H2, where names are not case-sensitive, the result is in
     * lower case.
     */
    public String qualified(Connection connection) throws SQLException {
        String product = connection.getMetaData().getDatabaseProductName();
        if (product.equals("PostgreSQL")) {
            return byCatalog(connection);
        }
        boolean isH2 = product.equals("H2");
        String schema = isH2 ? connection.getSchema() : connection.getCatalog();
        String full = value.indexOf('.') > 0 || schema == null ? value : schema + "." + value;
        return isH2 ? full.toLowerCase(Locale.ROOT) : full;
    }

    private String byCatalog(Connection connection) throws SQLException {
        String sql =
                "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                        + " WHERE c.oid = to_regclass(?)";
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            select.setString(1, value);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? row.getString(1) : value.toLowerCase(Locale.ROOT);
            }
        }
    }

    /** Returns the schema followed by a dot, or an empty string if the name has none. */
    String schemaPrefix() {
        return value.substring(0, value.indexOf('.') + 1);
    }

    /** Returns the table with the given name in the same schema. */
    TableName sibling(String name) {
        return new TableName(schemaPrefix() + name);
    }

    @Override
    public String toString() {
        return value;
    }
}
