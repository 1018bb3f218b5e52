package outbox.jdbc;

import outbox.jdbc.internal.leader.LeaderSession;
import outbox.jdbc.internal.schema.Ddl;
import outbox.jdbc.internal.schema.DdlFiles;
import outbox.jdbc.internal.sql.SqlStates;
import outbox.jdbc.internal.sql.TableColumns;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;

/**
 * The DDL that is shipped with the library, for programs that create their tables themselves. Migration tools read
 * the same files, with the default names, from {@code META-INF/outbox/schema} and, for each {@link Capability}, from
 * a directory next to it.
 */
public final class OutboxSchema {

    static final String TABLE = "META-INF/outbox/schema/%s/V1__outbox_event.sql";

    private static final Pattern INDEX = Pattern.compile("CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\\w+) ON (\\S+) ");

    private static final Pattern MADE = Pattern.compile("IF NOT EXISTS (?:\\w+\\.)?(\\w+)");

    /** The table of leases, for databases without a lock that ends with the session. */
    private static final String LEADER = "META-INF/outbox/schema-leader/%s/V6__outbox_leader.sql";

    /** The migration for PostgreSQL tables of earlier versions. */
    private static final String ONE_TABLE = "META-INF/outbox/schema-one-table/postgresql/V11__outbox_one_table.sql";

    private OutboxSchema() {}

    /** Returns the statements that create the table of the given store and the audit table next to it. */
    public static List<String> statements(AbstractJdbcEventStore store) {
        return tableStatements(store);
    }

    static List<String> tableStatements(JdbcTable store) {
        return script(store, TABLE.formatted(store.dialect().schemaName()));
    }

    /** Returns the statements that add a capability to an outbox. Run them once. */
    public static List<String> statements(AbstractJdbcEventStore store, Capability capability) {
        return script(store, capability.resource(store.dialect().schemaName()));
    }

    /**
     * Returns the statements that create what a {@link JdbcLeadership} needs: a table on H2, nothing on
     * other databases.
     */
    public static List<String> leaderStatements(AbstractJdbcEventStore store) {
        return store.dialect() instanceof H2Dialect
                ? script(store, LEADER.formatted(store.dialect().schemaName()))
                : List.of();
    }

    private static List<String> script(JdbcTable store, String resource) {
        List<String> script = DdlFiles.statements(
                DdlFiles.script(resource, DdlFiles.names(store.table().value())));
        if (store.dialect() instanceof PostgresDialect) {
            refuseLongNames(store.table(), script);
        }
        return script;
    }

    private static void refuseLongNames(TableName table, List<String> script) {
        for (String statement : script) {
            MADE.matcher(statement).results().map(made -> made.group(1)).forEach(made -> {
                if (made.length() > PostgresDialect.MAX_NAME) {
                    throw new IllegalArgumentException("The name of table " + table + " is too long: " + made
                            + ", which is named after it, would have more than the " + PostgresDialect.MAX_NAME
                            + " characters that PostgreSQL keeps of a name.");
                }
            });
        }
    }

    /** Returns the statements that create the table of the given inbox, for the database of the given store. */
    public static List<String> inboxStatements(AbstractJdbcEventStore store, JdbcInbox inbox) {
        return inboxStatements(store.dialect(), inbox);
    }

    private static List<String> inboxStatements(Dialect dialect, JdbcInbox inbox) {
        Map<String, String> names = Map.of(
                "inbox", inbox.table().value(),
                "consume_log", inbox.table().value(),
                "inbox_prefix", inbox.table().simpleName(),
                "events", "outbox_events"); // appears only in a comment
        return DdlFiles.statements(DdlFiles.script(inbox.layout().resource(dialect.schemaName()), names));
    }

    /** Creates the table of the given inbox if it does not exist. Several nodes may do this at the same time. */
    public static void createInbox(DataSource dataSource, JdbcInbox inbox) {
        Dialect dialect = JdbcEventStores.dialect(dataSource);
        synchronized (dialect instanceof H2Dialect ? OutboxSchema.class : new Object()) {
            withAutoCommit(
                    dataSource, inbox.table(), connection -> Ddl.create(connection, inboxStatements(dialect, inbox)));
        }
    }

    /**
     * Returns descriptions of the missing parts of the given inbox, or an empty list if nothing is missing.
     * Changes nothing.
     */
    public static List<String> missingInbox(DataSource dataSource, JdbcInbox inbox) {
        try (Connection connection = dataSource.getConnection()) {
            TableColumns shape = shape(connection, inbox.table().value());
            return shape == TableColumns.NONE
                    ? List.of("table " + inbox.table())
                    : shape.missing(inbox.layout().columns()).stream()
                            .map(column -> "column " + column + " of table " + inbox.table())
                            .toList();
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + inbox.table() + ": " + e.getMessage(), e);
        }
    }

    /**
     * Creates the table and the parts of each capability that do not exist. Several nodes may do this at the
     * same time.
     */
    public static void create(DataSource dataSource, AbstractJdbcEventStore store, Capability... capabilities) {
        // H2 does not find a table while another session alters it. All users of an H2 database are in one process.
        synchronized (store.dialect() instanceof H2Dialect ? OutboxSchema.class : new Object()) {
            withAutoCommit(dataSource, store.table(), connection -> {
                Ddl.create(connection, statements(store));
                JdbcTable.columns(connection, store.table());
                for (Capability capability : capabilities) {
                    String column = capability.column();
                    if (column == null) {
                        Ddl.create(connection, statements(store, capability));
                    } else {
                        List<String> statements = statements(store, capability);
                        Ddl.migrate(connection, statements, () -> isMade(connection, store, capability, column));
                        addIndexes(connection, store, statements);
                    }
                }
            });
        }
    }

    /**
     * Returns descriptions of the missing parts of the table and the capabilities, such as
     * {@code table outbox_event} or {@code column seq of table outbox_event}. Empty if nothing is missing.
     * Changes nothing.
     */
    public static List<String> missing(
            DataSource dataSource, AbstractJdbcEventStore store, Capability... capabilities) {
        List<String> missing = new ArrayList<>();
        try (Connection connection = dataSource.getConnection()) {
            TableColumns shape = shape(connection, store.table().value());
            if (shape == TableColumns.NONE) {
                missing.add("table " + store.table());
                return missing;
            }
            shape.missing(TableColumns.REQUIRED).forEach(column -> missing.add(column(column, store)));
            for (Capability capability : capabilities) {
                String column = capability.column();
                if (column == null) {
                    for (TableName table : tables(store, capability)) {
                        if (shape(connection, table.value()) == TableColumns.NONE) {
                            missing.add("table " + table);
                        }
                    }
                } else {
                    if (!shape.has(column)) {
                        missing.add(column(column, store));
                    }
                    if (capability == Capability.PRIORITY
                            && !(store.dialect() instanceof PostgresDialect)
                            && !shape.has("priority_slot")) {
                        missing.add(column("priority_slot", store));
                    }
                    if (capability == Capability.KEYS && !hasKeys(connection, store)) {
                        missing.add("table " + store.table().sibling(KeyStatements.TABLE));
                    }
                }
            }
            return missing;
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + store.table() + ": " + e.getMessage(), e);
        }
    }

    /**
     * Returns the columns of the table that a statement finds by this name, or {@link TableColumns#NONE}. It runs a
     * query, because metadata does not follow the search path.
     */
    static TableColumns shape(Connection connection, String table) throws SQLException {
        try {
            return TableColumns.readAny(connection, table);
        } catch (SQLException e) {
            if (!SqlStates.isTableMissing(e)) {
                throw e;
            }
            if (!connection.getAutoCommit()) {
                connection.rollback();
            }
            return TableColumns.NONE;
        }
    }

    private static String column(String column, AbstractJdbcEventStore store) {
        return "column " + column + " of table " + store.table();
    }

    private static List<TableName> tables(AbstractJdbcEventStore store, Capability capability) {
        return switch (capability) {
            case PAUSES -> List.of(store.table().sibling(PauseStatements.TABLE));
            case ATTEMPTS -> List.of(store.table().sibling(AttemptStatements.TABLE));
            case INBOX -> List.of(store.table().sibling("outbox_inbox"));
            case RECONCILE ->
                List.of(
                        store.table().sibling(ReconcileStatements.RUNS),
                        store.table().sibling(ReconcileStatements.JOBS));
            // columns only; hasKeys also checks for the table of keys
            case ORDER, KEYS, PRIORITY, DEADLINES -> List.of();
        };
    }

    /**
     * Whether events with a priority or a deadline are in a second PostgreSQL table, which earlier versions created
     * and which inherits from the table of the store.
     */
    public static boolean hasControlTable(DataSource dataSource, AbstractJdbcEventStore store) {
        if (!(store.dialect() instanceof PostgresDialect)) {
            return false;
        }
        try (Connection connection = dataSource.getConnection()) {
            return PostgresDialect.hasControlTable(connection, store.table());
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + store.table() + ": " + e.getMessage(), e);
        }
    }

    /** Returns the statements that move the events of such a second table to the table of the store and drop it. */
    public static List<String> controlTableStatements(AbstractJdbcEventStore store) {
        return store.dialect() instanceof PostgresDialect ? script(store, ONE_TABLE) : List.of();
    }

    /**
     * Moves the events of such a second table to the table of the store, with ids, order numbers and claims, and
     * drops it. Does nothing if there is none. Stop all nodes of the earlier version first, because their statements
     * on the second table fail afterwards. Keys must be in their table before, see {@link Capability#KEYS}.
     */
    public static void mergeControlTable(DataSource dataSource, AbstractJdbcEventStore store) {
        if (store.dialect() instanceof PostgresDialect) {
            List<String> statements = new ArrayList<>();
            statements.add("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
            statements.addAll(controlTableStatements(store));
            withAutoCommit(
                    dataSource,
                    store.table(),
                    connection -> Ddl.migrate(
                            connection, statements, () -> !PostgresDialect.hasControlTable(connection, store.table())));
        }
    }

    /** Creates what a {@link JdbcLeadership} needs, if it does not exist. */
    public static void createLeader(DataSource dataSource, AbstractJdbcEventStore store) {
        withAutoCommit(dataSource, store.table(), connection -> Ddl.create(connection, leaderStatements(store)));
    }

    /**
     * Returns descriptions of the missing parts that a {@link JdbcLeadership} needs, in the form of
     * {@link #missing}. Changes nothing.
     */
    public static List<String> missingForLeader(DataSource dataSource, AbstractJdbcEventStore store) {
        if (!(store.dialect() instanceof H2Dialect)) {
            return List.of();
        }
        TableName table = store.table().sibling(LeaderSession.LEASES);
        try (Connection connection = dataSource.getConnection()) {
            return shape(connection, table.value()) == TableColumns.NONE ? List.of("table " + table) : List.of();
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + table + ": " + e.getMessage(), e);
        }
    }

    private interface Action {
        void on(Connection connection) throws SQLException;
    }

    private static void withAutoCommit(DataSource dataSource, TableName table, Action action) {
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            try {
                connection.setAutoCommit(true);
                action.on(connection);
            } finally {
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            throw new EventStoreException("Cannot create table " + table + ": " + e.getMessage(), e);
        }
    }

    private static boolean has(Connection connection, AbstractJdbcEventStore store, String column) throws SQLException {
        return JdbcTable.columns(connection, store.table()).has(column);
    }

    private static boolean isMade(
            Connection connection, AbstractJdbcEventStore store, Capability capability, String column)
            throws SQLException {
        return has(connection, store, column)
                && switch (capability) {
                    case KEYS -> hasKeys(connection, store);
                    case PRIORITY -> // on other databases a generated column has the index
                        store.dialect() instanceof PostgresDialect || has(connection, store, "priority_slot");
                    default -> true;
                };
    }

    /**
     * Whether the table of keys exists and contains the keys of this table of events. The migration is not finished
     * as long as the table of events has a column or an index for keys of an earlier version. The table of keys may
     * have been created for another table of events.
     */
    private static boolean hasKeys(Connection connection, AbstractJdbcEventStore store) throws SQLException {
        return shape(connection, store.table().sibling(KeyStatements.TABLE).value()) != TableColumns.NONE
                && !has(connection, store, "dedup_slot")
                && store.keys().isComplete(connection);
    }

    /**
     * Adds indexes that later versions introduced, which exist only on PostgreSQL. They are searched by name,
     * because CREATE INDEX IF NOT EXISTS would lock the table.
     */
    private static void addIndexes(Connection connection, AbstractJdbcEventStore store, List<String> statements)
            throws SQLException {
        if (!(store.dialect() instanceof PostgresDialect)) {
            return;
        }
        for (String sql : statements) {
            Matcher index = INDEX.matcher(sql);
            if (index.lookingAt()
                    && PostgresDialect.hasRelation(connection, index.group(2))
                    && !PostgresDialect.hasRelation(
                            connection, store.table().sibling(index.group(1)).value())) {
                Ddl.create(connection, List.of(sql));
            }
        }
    }
}
