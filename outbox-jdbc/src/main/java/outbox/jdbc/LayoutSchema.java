package outbox.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import javax.sql.DataSource;

/** The DDL of the shipped layouts but the specification's, which {@link OutboxSchema} has: to print, or to create. The name of the table was checked by {@link TableName}, and is put in. */
public final class LayoutSchema {

    private static final String MODULE = "META-INF/outbox/schema-module/%s/V1__module_outbox.sql";
    private static final String PARTITIONED = "META-INF/outbox/schema-module/%s/V1__module_outbox_partitioned.sql";
    private static final String TRACE = "META-INF/outbox/schema-module/%s/V2__module_trace.sql";
    private static final String LIMIT = "META-INF/outbox/schema-module/%s/V3__outbox_attempt_limit.sql";
    private static final String TEXT_STATUS = "META-INF/outbox/schema-text-status/%s/V1__outbox_events.sql";

    private LayoutSchema() {}

    /** The script that creates the table, with its comments. */
    public static String script(LayoutEventStore store) {
        return filled(store, resource(store));
    }

    /** The script that creates a table of the module layout in partitions, with its comments. Only for PostgreSQL. */
    public static String partitionedScript(LayoutEventStore store) {
        resource(store); // refuses other layouts
        return filled(store, PARTITIONED.formatted(store.dialect().name()));
    }

    /** The script that gives a table of the module layout the columns for the trace. */
    public static String traceScript(LayoutEventStore store) {
        return filled(store, TRACE.formatted(store.dialect().name()));
    }

    /** The script that creates the table with the limits of attempts, next to a table of the module layout. */
    public static String attemptLimitScript(LayoutEventStore store) {
        return filled(store, LIMIT.formatted(store.dialect().name()));
    }

    /**
     * Creates the table, the audit table and, for the module layout, that of the {@link AttemptLimits} next to it, if
     * they are not there.
     */
    public static void create(DataSource dataSource, LayoutEventStore store) {
        create(dataSource, store, script(store));
    }

    /** The same, in partitions; {@link ModulePartitions} makes and drops them. */
    public static void createPartitioned(DataSource dataSource, LayoutEventStore store) {
        create(dataSource, store, partitionedScript(store));
    }

    private static void create(DataSource dataSource, LayoutEventStore store, String script) {
        run(dataSource, store, (connection, statement) -> {
            if (!exists(connection, store)) {
                for (String sql : statements(script)) {
                    statement.execute(sql);
                }
            }
            for (String sql : OutboxSchema.statements(store.dialect())) {
                if (sql.contains("outbox_audit")) {
                    statement.execute(sql);
                }
            }
            if (store.layout().name().equals(TableLayout.MODULE)) {
                String limits = filled(store, LIMIT.formatted(store.dialect().name()), schemaOf(connection, store));
                for (String sql : statements(limits)) {
                    statement.execute(sql);
                }
            }
        });
    }

    /** Gives a table of the module layout the columns for the trace, if it does not have them. Nodes that run use them after a restart. */
    public static void addTrace(DataSource dataSource, LayoutEventStore store) {
        run(dataSource, store, (connection, statement) -> {
            if (!store.has(TableShape.readAny(connection, store.sqlName()), LayoutColumn.TRACE_PARENT)) {
                for (String sql : statements(traceScript(store))) {
                    statement.execute(sql);
                }
            }
        });
    }

    /** What the database has not got of the table, in words; empty if it has all. Changes nothing. */
    public static List<String> missing(DataSource dataSource, LayoutEventStore store) {
        try (Connection connection = dataSource.getConnection()) {
            TableShape shape = OutboxSchema.shape(connection, store.sqlName());
            return shape == TableShape.NONE
                    ? List.of("table " + store.table())
                    : store.missingIn(shape).stream()
                            .map(column -> "column " + column + " of table " + store.table())
                            .toList();
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + store.table() + ": " + e.getMessage(), e);
        }
    }

    /** By the exact name: what is in quotes is not folded. */
    private static boolean exists(Connection connection, LayoutEventStore store) throws SQLException {
        if (!store.sql().isPostgres()) {
            return store.dialect().hasTable(connection, store.table());
        }
        try (PreparedStatement select = connection.prepareStatement("SELECT to_regclass(?) IS NOT NULL")) {
            select.setString(1, store.sqlName());
            try (ResultSet row = select.executeQuery()) {
                return row.next() && row.getBoolean(1);
            }
        }
    }

    /**
     * The limits are looked for in the schema of the table, and the search path may create tables in another one than
     * it finds them in.
     */
    private static String schemaOf(Connection connection, LayoutEventStore store) throws SQLException {
        // Binds: the table, which is there.
        String text =
                "SELECT quote_ident(n.nspname) || '.' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                        + " WHERE c.oid = to_regclass(?)";
        try (PreparedStatement select = connection.prepareStatement(text)) {
            select.setString(1, store.sqlName());
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getString(1);
            }
        }
    }

    private static String resource(LayoutEventStore store) {
        String layout = store.layout().name();
        String path = switch (layout) {
            case TableLayout.MODULE -> MODULE;
            case TableLayout.TEXT_STATUS -> TEXT_STATUS;
            default ->
                throw new IllegalArgumentException("There is no DDL for tables of layout '" + layout
                        + "'; that of the specification is in OutboxSchema");
        };
        return path.formatted(store.dialect().name());
    }

    /** In the scripts the table is called {@code <module>_outbox} or {@code outbox_events}; what is named after it keeps its ending. */
    private static String filled(LayoutEventStore store, String resource) {
        String name = store.sqlName();
        return filled(store, resource, name.substring(0, name.indexOf('.') + 1)); // a quoted name has no other dot
    }

    private static String filled(LayoutEventStore store, String resource, String schema) {
        String simple = Matcher.quoteReplacement(store.table().simpleName());
        return OutboxSchema.read(resource)
                .replace("<schema>", schema)
                .replaceAll("(?:<module>_outbox|\\boutbox_events)_", simple + "_")
                .replaceAll("(?:<module>_outbox|\\boutbox_events)\\b", Matcher.quoteReplacement(store.sqlName()));
    }

    private static List<String> statements(String script) {
        return Arrays.stream(script.replaceAll("--[^\\n]*", "").split(";"))
                .map(String::strip)
                .filter(statement -> !statement.isEmpty())
                .toList();
    }

    /** Some DDL. */
    private interface Ddl {
        void on(Connection connection, Statement statement) throws SQLException;
    }

    /** In one transaction, so that where DDL takes part in it nobody sees a table without its indexes. */
    private static void run(DataSource dataSource, LayoutEventStore store, Ddl ddl) {
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                ddl.on(connection, statement);
                connection.commit();
            } catch (SQLException | RuntimeException e) {
                connection.rollback();
                throw e;
            } finally {
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            throw new EventStoreException("Cannot create table " + store.table() + ": " + e.getMessage(), e);
        }
    }
}
