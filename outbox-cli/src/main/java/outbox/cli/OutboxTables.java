package outbox.cli;

import outbox.cli.doctor.Doctor;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Finds the outbox tables of a database by their columns. */
final class OutboxTables {

    /** Excludes partitions and tables that inherit from another table: they are part of that table. */
    private static final String POSTGRES = """
            SELECT CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname || '.' END || c.relname
              FROM pg_class c
              JOIN pg_namespace n ON n.oid = c.relnamespace
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'event_id' AND NOT a.attisdropped
             WHERE c.relkind IN ('r', 'p')
               AND n.nspname NOT IN ('pg_catalog', 'information_schema')
               AND n.nspname NOT LIKE 'pg!_temp!_%' ESCAPE '!'
               AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid)
             ORDER BY 1
            """;

    private static final String MYSQL = """
            SELECT table_name
              FROM information_schema.columns
             WHERE column_name = 'event_id'
               AND table_schema = DATABASE()
             ORDER BY 1
            """;

    private static final String H2 = """
            SELECT LOWER(table_name)
              FROM information_schema.columns
             WHERE LOWER(column_name) = 'event_id'
               AND table_schema = SCHEMA()
             ORDER BY 1
            """;

    private OutboxTables() {}

    /** The names of the tables, sorted. Tables outside the default schema are named with their schema. */
    static List<String> of(Database database) throws SQLException {
        String sql = switch (database.product()) {
            case "postgresql" -> POSTGRES;
            case "mysql" -> MYSQL;
            default -> H2;
        };
        try (Connection connection = database.getConnection()) {
            List<String> tables = new ArrayList<>();
            for (String name : names(connection, sql)) {
                if (name.toLowerCase(Locale.ROOT).matches("[a-z0-9_]+(\\.[a-z0-9_]+)?")
                        && Doctor.kindOf(connection, name).isPresent()) {
                    tables.add(name);
                }
            }
            return tables;
        }
    }

    private static List<String> names(Connection connection, String sql) throws SQLException {
        List<String> names = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement(sql);
                ResultSet rows = select.executeQuery()) {
            while (rows.next()) {
                names.add(rows.getString(1));
            }
        }
        return names;
    }
}
