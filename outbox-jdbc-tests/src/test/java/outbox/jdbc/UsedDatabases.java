package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import javax.sql.DataSource;

/**
 * Databases of one server that have the same tables and whose tests have ended. The next test gets one of them with
 * empty tables. This is much faster than creating a new database and running its DDL.
 *
 * <p>A database is not reused if its test changed the schema. It is not reused yet if a session is still connected
 * to it.
 */
final class UsedDatabases {

    /** Returns one row with everything that DDL can change. */
    private static final String SCHEMA_OF_POSTGRES = """
            SELECT string_agg(line, E'\\n' ORDER BY line)
              FROM (SELECT concat_ws(' ', c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.reloptions,
                                     c.relacl, pg_get_indexdef(CASE WHEN c.relkind = 'i' THEN c.oid END)) AS line
                      FROM pg_class c
                     WHERE c.relnamespace = 'public'::regnamespace
                    UNION ALL
                    SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                                     a.attacl, pg_get_expr(d.adbin, d.adrelid))
                      FROM pg_attribute a
                      JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'public'::regnamespace
                      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                     WHERE a.attnum > 0 AND NOT a.attisdropped
                    UNION ALL
                    SELECT pg_get_constraintdef(oid)
                      FROM pg_constraint
                     WHERE connamespace = 'public'::regnamespace
                    UNION ALL
                    SELECT concat_ws(' ', pg_get_triggerdef(oid), tgenabled)
                      FROM pg_trigger
                     WHERE NOT tgisinternal
                    UNION ALL
                    SELECT proname
                      FROM pg_proc
                     WHERE pronamespace = 'public'::regnamespace
                    UNION ALL
                    SELECT setconfig::text
                      FROM pg_db_role_setting
                     WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
                    UNION ALL
                    SELECT nspname
                      FROM pg_namespace
                     WHERE nspname NOT LIKE 'pg\\_temp%' AND nspname NOT LIKE 'pg\\_toast%') AS lines
            """;

    private final Databases kind;
    private final Deque<String> urls = new ArrayDeque<>(); // guarded by this
    private @Nullable String schema; // guarded by this; the schema of every database when its test begins

    UsedDatabases(Databases kind) {
        this.kind = kind;
    }

    /** Records the schema of a new database. */
    synchronized void created(DataSource database) throws SQLException {
        if (schema == null) {
            try (Connection connection = database.getConnection()) {
                for (String table : tables(connection)) {
                    if (!hasSlots(table) && hasRows(connection, table)) {
                        throw new IllegalStateException("Table " + table + " has rows from the start; they would go");
                    }
                }
                schema = schema(connection);
            }
        }
    }

    /** Adds a database that no test uses any more. */
    synchronized void add(String url) {
        urls.add(url);
    }

    /** Returns the URL of a database with empty tables, or null if there is none. */
    synchronized @Nullable String take() throws SQLException {
        for (int left = urls.size(); left > 0; left--) {
            String url = urls.remove();
            try (Connection connection = DriverManager.getConnection(url)) {
                if (sessions(connection) > 1) {
                    urls.add(url);
                } else if (schema(connection).equals(schema)) {
                    empty(connection);
                    return url;
                }
            }
        }
        return null;
    }

    private int sessions(Connection connection) throws SQLException {
        return Integer.parseInt(
                kind == Databases.POSTGRES
                        ? text(connection, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()")
                        : text(
                                connection,
                                "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()"));
    }

    private String schema(Connection connection) throws SQLException {
        if (kind == Databases.POSTGRES) {
            return text(connection, SCHEMA_OF_POSTGRES);
        }
        StringBuilder schema = new StringBuilder(
                text(connection, "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()"));
        for (String table : tables(connection)) {
            // ignore the next number
            schema.append(definition(connection, table).replaceAll(" AUTO_INCREMENT=\\d+", ""));
        }
        return schema.toString();
    }

    private static String definition(Connection connection, String table) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW CREATE TABLE " + table)) {
            row.next();
            return row.getString(2);
        }
    }

    private void empty(Connection connection) throws SQLException {
        if (kind == Databases.POSTGRES) {
            emptyPostgres(connection);
        } else {
            emptyMySql(connection);
        }
    }

    /**
     * A table that was not written since it was emptied has no pages. Its sequence may have advanced without a row.
     */
    private static void emptyPostgres(Connection connection) throws SQLException {
        List<String> written = texts(connection, """
                SELECT quote_ident(relname)
                  FROM pg_class c
                 WHERE relkind = 'r'
                   AND relnamespace = 'public'::regnamespace
                   AND (pg_relation_size(oid) > 0
                        OR EXISTS (SELECT FROM pg_depend d
                                     JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
                                    WHERE d.refobjid = c.oid))
                """);
        if (!written.isEmpty()) {
            execute(connection, "TRUNCATE TABLE ONLY " + String.join(", ONLY ", written) + " RESTART IDENTITY");
        }
    }

    private void emptyMySql(Connection connection) throws SQLException {
        for (String table : tables(connection)) {
            if (hasSlots(table)) {
                execute(connection, "DELETE FROM outbox_key WHERE event_id <> ''");
            } else if (hasRows(connection, table)
                    || definition(connection, table).contains("AUTO_INCREMENT")) { // TRUNCATE restarts its numbers
                execute(connection, "TRUNCATE TABLE " + table);
            }
        }
    }

    /**
     * Returns whether this table has fixed rows. On MySQL and MariaDB the key table has a row for each slot from
     * the start.
     */
    private boolean hasSlots(String table) {
        return kind != Databases.POSTGRES && table.equals("outbox_key");
    }

    private static boolean hasRows(Connection connection, String table) throws SQLException {
        return !texts(connection, "SELECT 1 FROM " + table + " LIMIT 1").isEmpty();
    }

    private List<String> tables(Connection connection) throws SQLException {
        return texts(
                connection,
                kind == Databases.POSTGRES
                        ? "SELECT quote_ident(relname) FROM pg_class"
                                + " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
                        : "SHOW TABLES");
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static List<String> texts(Connection connection, String sql) throws SQLException {
        List<String> texts = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                texts.add(rows.getString(1));
            }
        }
        return texts;
    }

    private static String text(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }
}
