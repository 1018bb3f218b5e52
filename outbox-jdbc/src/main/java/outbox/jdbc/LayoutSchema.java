package outbox.jdbc;

import outbox.Experimental;
import outbox.jdbc.internal.schema.DdlFiles;
import outbox.jdbc.internal.sql.TableColumns;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import javax.sql.DataSource;

/**
 * Prints or executes the DDL of the shipped layouts. The DDL of the specification's layout is in
 * {@link OutboxSchema}. {@link TableName} has checked the table name, so it can be inserted into the text.
 */
@Experimental
public final class LayoutSchema {

    private static final String MODULE = "META-INF/outbox/schema-module/%s/V1__module_outbox.sql";
    private static final String PARTITIONED = "META-INF/outbox/schema-module/%s/V1__module_outbox_partitioned.sql";
    private static final String TRACE = "META-INF/outbox/schema-module/%s/V2__module_trace.sql";
    private static final String LIMIT = "META-INF/outbox/schema-module/%s/V3__outbox_attempt_limit.sql";
    private static final String TEXT_STATUS = "META-INF/outbox/schema-text-status/%s/V1__outbox_events.sql";

    private LayoutSchema() {}

    /** Returns the script that creates the table, including comments. */
    public static String script(LayoutEventStore store) {
        return filled(store, resource(store));
    }

    /**
     * Returns the script that creates a partitioned table of the module layout, including comments. Only
     * for PostgreSQL.
     */
    public static String partitionedScript(LayoutEventStore store) {
        resource(store); // refuses other layouts
        return filled(store, PARTITIONED.formatted(store.dialect().schemaName()));
    }

    /** Returns the script that adds the trace columns to a table of the module layout. */
    public static String traceScript(LayoutEventStore store) {
        return filled(store, TRACE.formatted(store.dialect().schemaName()));
    }

    /** Returns the script that creates the table of attempt limits next to a table of the module layout. */
    public static String attemptLimitScript(LayoutEventStore store) {
        return filled(store, LIMIT.formatted(store.dialect().schemaName()));
    }

    /**
     * Creates the table and the audit table next to it, if they do not exist. For the module layout, also creates
     * the table of {@link AttemptLimits}.
     */
    public static void create(DataSource dataSource, LayoutEventStore store) {
        create(dataSource, store, script(store));
    }

    /** Like {@link #create}, with a partitioned table. {@link ModulePartitions} creates and drops the partitions. */
    public static void createPartitioned(DataSource dataSource, LayoutEventStore store) {
        create(dataSource, store, partitionedScript(store));
    }

    private static void create(DataSource dataSource, LayoutEventStore store, String script) {
        run(dataSource, store, (connection, statement) -> {
            if (!exists(connection, store)) {
                for (String sql : DdlFiles.statements(script)) {
                    statement.execute(sql);
                }
            }
            for (String sql : OutboxSchema.tableStatements(store)) {
                if (sql.contains(AuditStatements.TABLE)) {
                    statement.execute(sql);
                }
            }
            if (store.layout().name().equals(TableLayout.MODULE)) {
                String limits =
                        filled(store, LIMIT.formatted(store.dialect().schemaName()), schemaOf(connection, store));
                for (String sql : DdlFiles.statements(limits)) {
                    statement.execute(sql);
                }
            }
        });
    }

    /**
     * Adds the trace columns to a table of the module layout, if they do not exist. Running nodes use them after
     * a restart.
     */
    public static void addTrace(DataSource dataSource, LayoutEventStore store) {
        run(dataSource, store, (connection, statement) -> {
            if (!store.has(TableColumns.readAny(connection, store.sqlName()), LayoutColumn.TRACE_PARENT)) {
                for (String sql : DdlFiles.statements(traceScript(store))) {
                    statement.execute(sql);
                }
            }
        });
    }

    /**
     * Returns descriptions of the missing parts of the table, or an empty list if nothing is missing.
     * Changes nothing.
     */
    public static List<String> missing(DataSource dataSource, LayoutEventStore store) {
        try (Connection connection = dataSource.getConnection()) {
            TableColumns shape = OutboxSchema.shape(connection, store.sqlName());
            return shape == TableColumns.NONE
                    ? List.of("table " + store.table())
                    : store.missingIn(shape).stream()
                            .map(column -> "column " + column + " of table " + store.table())
                            .toList();
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + store.table() + ": " + e.getMessage(), e);
        }
    }

    /** Searches for the exact name, because names in quotes are case-sensitive. */
    private static boolean exists(Connection connection, LayoutEventStore store) throws SQLException {
        return store.sql().isPostgres()
                ? PostgresDialect.hasRelation(connection, store.sqlName())
                : store.dialect().hasTable(connection, store.table());
    }

    /**
     * Returns the schema of the table. The limits are read from that schema, but the search path may create new
     * tables in another schema.
     */
    private static String schemaOf(Connection connection, LayoutEventStore store) throws SQLException {
        // Binds: the table, which exists.
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
        return path.formatted(store.dialect().schemaName());
    }

    private static String filled(LayoutEventStore store, String resource) {
        String name = store.sqlName();
        // a quoted name contains no other dot
        return filled(store, resource, name.substring(0, name.indexOf('.') + 1));
    }

    private static String filled(LayoutEventStore store, String resource, String schema) {
        return filled(resource, store.table(), store.sqlName(), schema);
    }

    /**
     * Returns the script of a DDL file of a layout for the table of a store, such as
     * {@code schema-module/%s/V2__module_trace.sql}. The table name is not quoted.
     */
    public static String script(AbstractJdbcEventStore store, String file) {
        TableName table = store.table();
        String resource = "META-INF/outbox/" + file.formatted(store.dialect().schemaName());
        return filled(resource, table, table.value(), table.schemaPrefix());
    }

    /**
     * Fills in the placeholders of a DDL file. The file of the module layout is a byte-exact copy of its standard
     * and has its own placeholders.
     */
    private static String filled(String resource, TableName table, String sqlName, String schema) {
        return DdlFiles.script(resource, DdlFiles.names(table.simpleName(), sqlName, schema))
                .replace("<schema>", schema)
                .replace("<module>_outbox_", table.simpleName() + "_")
                .replace("<module>_outbox", sqlName);
    }

    private interface Ddl {
        void on(Connection connection, Statement statement) throws SQLException;
    }

    /**
     * Runs the DDL in one transaction. If the database supports transactional DDL, no other session sees a table
     * without its indexes.
     */
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
