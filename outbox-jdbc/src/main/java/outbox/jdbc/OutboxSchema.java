package outbox.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.sql.DataSource;

/**
 * The DDL that ships with the library, for programs that create their table themselves. Migration tools read the same files from {@code META-INF/outbox/schema}, and for
 * each {@link Capability} from a directory beside it.
 */
public final class OutboxSchema {

    private static final String TABLE = "META-INF/outbox/schema/%s/V1__outbox_event.sql";

    private static final Pattern INDEX = Pattern.compile("CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\\w+) ON (\\S+) ");

    /** A statement with what it may have between dollars, where a semicolon is not its end. */
    private static final Pattern STATEMENT = Pattern.compile("(?:[^;$]++|\\$\\$.*?\\$\\$)+", Pattern.DOTALL);

    private static final Pattern MADE = Pattern.compile("IF NOT EXISTS (?:\\w+\\.)?(\\w+)");

    private static final int MAX_TRIES = 3; // of nodes that get in the way of each other

    /** The table of leases, for databases without a lock that ends with its session. */
    private static final String LEADER = "META-INF/outbox/schema-leader/%s/V6__outbox_leader.sql";

    private OutboxSchema() {}

    /** The statements that create the table of the given store, and the audit table beside it. */
    public static List<String> statements(AbstractJdbcEventStore store) {
        return script(store, TABLE.formatted(store.name()));
    }

    /** The statements that give an outbox a capability, once. */
    public static List<String> statements(AbstractJdbcEventStore store, Capability capability) {
        return Stream.of(capability.resource(store.name()), capability.lastResource(store.name()))
                .distinct()
                .flatMap(resource -> script(store, resource).stream())
                .toList();
    }

    /** The statements that create what a {@link JdbcLeadership} needs: a table on H2, nothing elsewhere. */
    public static List<String> leaderStatements(AbstractJdbcEventStore store) {
        return store instanceof H2EventStore ? script(store, LEADER.formatted(store.name())) : List.of();
    }

    private static List<String> script(AbstractJdbcEventStore store, String resource) {
        String name = store.table().simpleName();
        List<String> script = split(read(resource))
                .map(statement -> statement
                        .replace("'outbox_event', ", "'" + KeyStatements.owner(store) + "', ")
                        .replaceAll(
                                "DROP INDEX IF EXISTS outbox_event_(\\w+)",
                                "DROP INDEX IF EXISTS " + store.table().value() + "_$1")
                        .replaceAll("\\boutbox_event\\b", store.table().value())
                        .replaceAll(
                                "\\boutbox_event_((?:control_)?(?:due|order|key|dead_key|priority|expiry)|status|lease|seq)\\b",
                                name + "_$1")
                        .replaceAll(
                                "\\boutbox_event_control\\b", PostgresEventStore.besideFor(store.table(), "control"))
                        .replaceAll(
                                "\\boutbox_event_numbers\\b", PostgresEventStore.besideFor(store.table(), "numbers"))
                        .replaceAll(
                                "\\boutbox_audit\\b",
                                AuditStatements.table(store).value())
                        .replaceAll(
                                "\\boutbox_key\\b", KeyStatements.table(store).value())
                        .replaceAll(
                                "\\boutbox_pause\\b",
                                PauseStatements.table(store).value())
                        .replaceAll(
                                "\\boutbox_attempt\\b",
                                AttemptStatements.table(store).value())
                        .replaceAll(
                                "\\boutbox_inbox\\b",
                                store.table().sibling("outbox_inbox").value())
                        .replaceAll(
                                "\\boutbox_reconcile_job\\b",
                                ReconcileStatements.jobTable(store).value())
                        .replaceAll(
                                "\\boutbox_reconcile\\b",
                                ReconcileStatements.runTable(store).value())
                        .replaceAll(
                                "\\boutbox_leader\\b",
                                H2LeaderLock.table(store.table()).value()))
                .toList();
        if (store instanceof PostgresEventStore) {
            refuseLongNames(store.table(), script);
        }
        return script;
    }

    private static void refuseLongNames(TableName table, List<String> script) {
        for (String statement : script) {
            MADE.matcher(statement).results().map(made -> made.group(1)).forEach(made -> {
                if (made.length() > PostgresEventStore.MAX_NAME) {
                    throw new IllegalArgumentException("The name of table " + table + " is too long: " + made
                            + ", which is named after it, would have more than the " + PostgresEventStore.MAX_NAME
                            + " characters that PostgreSQL keeps of a name.");
                }
            });
        }
    }

    private static Stream<String> split(String script) {
        return STATEMENT
                .matcher(script.replaceAll("--[^\\n]*", ""))
                .results()
                .map(statement -> statement.group().strip())
                .filter(statement -> !statement.isEmpty());
    }

    /** The statements that create the table of the given inbox, on the database of the given store. */
    public static List<String> inboxStatements(AbstractJdbcEventStore store, JdbcInbox inbox) {
        String defaultTable = inbox.layout().defaultTable();
        return split(read(inbox.layout().resource(store.name())))
                .map(statement -> statement
                        .replaceAll("\\b" + defaultTable + "\\b", inbox.table().value())
                        .replaceAll(
                                "\\b" + defaultTable + "_age\\b", inbox.table().simpleName() + "_age"))
                .toList();
    }

    /** Creates the table of the given inbox, if it is not there yet. Several nodes may do so at the same time. */
    public static void createInbox(DataSource dataSource, JdbcInbox inbox) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource);
        synchronized (store instanceof H2EventStore ? OutboxSchema.class : new Object()) {
            withAutoCommit(
                    dataSource, inbox.table(), connection -> createTables(connection, inboxStatements(store, inbox)));
        }
    }

    /** What the database has not got of the table of the given inbox, in words; empty if it has all. Changes nothing. */
    public static List<String> missingInbox(DataSource dataSource, JdbcInbox inbox) {
        try (Connection connection = dataSource.getConnection()) {
            TableShape shape = shape(connection, inbox.table().value());
            return shape == TableShape.NONE
                    ? List.of("table " + inbox.table())
                    : shape.missing(inbox.layout().columns()).stream()
                            .map(column -> "column " + column + " of table " + inbox.table())
                            .toList();
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + inbox.table() + ": " + e.getMessage(), e);
        }
    }

    /** Creates what is not there yet: the table, and what each capability needs. Several nodes may do so at the same time. */
    public static void create(DataSource dataSource, AbstractJdbcEventStore store, Capability... capabilities) {
        // H2 loses sight of a table while another session alters it; but those who use it share a process.
        synchronized (store instanceof H2EventStore ? OutboxSchema.class : new Object()) {
            withAutoCommit(dataSource, store.table(), connection -> {
                createTables(connection, statements(store));
                TableShape.read(connection, store.table());
                for (Capability capability : capabilities) {
                    String column = capability.column();
                    if (column == null) {
                        createTables(connection, statements(store, capability));
                    } else {
                        List<String> first = script(store, capability.resource(store.name()));
                        migrate(connection, first, () -> has(connection, store, column));
                        addIndexes(connection, store, first);
                        if (capability == Capability.CONTROL) {
                            List<String> keys = script(store, capability.lastResource(store.name()));
                            migrate(connection, keys, () -> hasKeys(connection, store));
                        }
                    }
                }
            });
        }
    }

    /**
     * What the database has not got of the table and of what each capability needs, in words such as {@code table outbox_event} or {@code column seq of table outbox_event}; empty if it has all.
     * Changes nothing.
     */
    public static List<String> missing(
            DataSource dataSource, AbstractJdbcEventStore store, Capability... capabilities) {
        List<String> missing = new ArrayList<>();
        try (Connection connection = dataSource.getConnection()) {
            TableShape shape = shape(connection, store.table().value());
            if (shape == TableShape.NONE) {
                missing.add("table " + store.table());
                return missing;
            }
            shape.missing(TableShape.REQUIRED).forEach(column -> missing.add(column(column, store)));
            for (Capability capability : capabilities) {
                String column = capability.column();
                if (column == null) {
                    for (TableName table : tables(store, capability)) {
                        if (shape(connection, table.value()) == TableShape.NONE) {
                            missing.add("table " + table);
                        }
                    }
                } else {
                    if (!shape.has(column)) {
                        missing.add(column(column, store));
                    }
                    if (capability == Capability.CONTROL && !hasKeys(connection, store)) {
                        missing.add("table " + KeyStatements.table(store));
                    }
                }
            }
            return missing;
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + store.table() + ": " + e.getMessage(), e);
        }
    }

    /** What statements find by this name; {@link TableShape#NONE} if nothing. By a query, because only that follows the search path. */
    static TableShape shape(Connection connection, String table) throws SQLException {
        try {
            return TableShape.readAny(connection, table);
        } catch (SQLException e) {
            if (!SqlStates.isTableMissing(e)) {
                throw e;
            }
            if (!connection.getAutoCommit()) {
                connection.rollback();
            }
            return TableShape.NONE;
        }
    }

    private static String column(String column, AbstractJdbcEventStore store) {
        return "column " + column + " of table " + store.table();
    }

    private static List<TableName> tables(AbstractJdbcEventStore store, Capability capability) {
        return switch (capability) {
            case PAUSES -> List.of(PauseStatements.table(store));
            case ATTEMPTS -> List.of(AttemptStatements.table(store));
            case INBOX -> List.of(store.table().sibling("outbox_inbox"));
            case RECONCILE -> List.of(ReconcileStatements.runTable(store), ReconcileStatements.jobTable(store));
            case ORDER, CONTROL -> List.of(); // columns, and of CONTROL a table that is asked for by hasKeys
        };
    }

    /** Creates what a {@link JdbcLeadership} needs, if it is not there yet. */
    public static void createLeader(DataSource dataSource, AbstractJdbcEventStore store) {
        withAutoCommit(dataSource, store.table(), connection -> createTables(connection, leaderStatements(store)));
    }

    /** What the database has not got of what a {@link JdbcLeadership} needs, in words as of {@link #missing}. Changes nothing. */
    public static List<String> missingForLeader(DataSource dataSource, AbstractJdbcEventStore store) {
        if (!(store instanceof H2EventStore)) {
            return List.of();
        }
        TableName table = H2LeaderLock.table(store.table());
        try (Connection connection = dataSource.getConnection()) {
            return shape(connection, table.value()) == TableShape.NONE ? List.of("table " + table) : List.of();
        } catch (SQLException e) {
            throw new EventStoreException("Cannot look at table " + table + ": " + e.getMessage(), e);
        }
    }

    /** Some DDL. */
    private interface Ddl {
        void on(Connection connection) throws SQLException;
    }

    private static void withAutoCommit(DataSource dataSource, TableName table, Ddl ddl) {
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            try {
                connection.setAutoCommit(true);
                ddl.on(connection);
            } finally {
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            throw new EventStoreException("Cannot create table " + table + ": " + e.getMessage(), e);
        }
    }

    private static void createTables(Connection connection, List<String> statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                execute(statement, sql);
            }
        }
    }

    private static boolean has(Connection connection, AbstractJdbcEventStore store, String column) throws SQLException {
        return TableShape.read(connection, store.table()).has(column);
    }

    /**
     * Where the table of events still has a column or an index of V3 for keys, the migration that moves its keys to
     * their table has not ended. Another table of events may have created the table of keys.
     */
    private static boolean hasKeys(Connection connection, AbstractJdbcEventStore store) throws SQLException {
        return shape(connection, KeyStatements.table(store).value()) != TableShape.NONE
                && !has(connection, store, "dedup_slot")
                && store.keys().isComplete(connection);
    }

    /** Whether a migration has been made. */
    private interface Made {
        boolean isMade() throws SQLException;
    }

    /**
     * Run only while it is not made: MySQL has no IF NOT EXISTS for columns, and PostgreSQL would lock the whole
     * table to find out. In one transaction, so that where DDL takes part in it nobody sees a part of it.
     */
    private static void migrate(Connection connection, List<String> statements, Made made) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            for (int tries = 1; !made.isMade(); tries++) {
                connection.commit(); // the look at the table must keep no lock
                try {
                    for (String sql : statements) {
                        statement.execute(sql);
                    }
                    connection.commit();
                } catch (SQLException e) {
                    connection.rollback();
                    if (tries >= MAX_TRIES && !made.isMade()) { // else another node was faster
                        throw e;
                    }
                }
            }
        } finally {
            connection.setAutoCommit(true);
        }
    }

    /** Those that came after the columns. Looked for by name, since PostgreSQL would lock the table to find out; elsewhere none came later. */
    private static void addIndexes(Connection connection, AbstractJdbcEventStore store, List<String> statements)
            throws SQLException {
        if (!(store instanceof PostgresEventStore)) {
            return;
        }
        for (String sql : statements) {
            Matcher index = INDEX.matcher(sql);
            if (index.lookingAt()
                    && hasRelation(connection, new TableName(index.group(2)))
                    && !hasRelation(connection, store.table().sibling(index.group(1)))) {
                createTables(connection, List.of(sql));
            }
        }
    }

    static boolean hasRelation(Connection connection, TableName name) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement("SELECT to_regclass(?) IS NOT NULL")) {
            query.setString(1, name.value());
            try (ResultSet row = query.executeQuery()) {
                return row.next() && row.getBoolean(1);
            }
        }
    }

    /** PostgreSQL lets two sessions collide in CREATE … IF NOT EXISTS; the second try then finds what the other made. */
    private static void execute(Statement statement, String sql) throws SQLException {
        try {
            statement.execute(sql);
        } catch (SQLException e) {
            try {
                statement.execute(sql);
            } catch (SQLException again) {
                again.addSuppressed(e);
                throw again;
            }
        }
    }

    static String read(String resource) {
        try (InputStream in = OutboxSchema.class.getClassLoader().getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalArgumentException(
                        "There is no DDL at " + resource + "; a store of your own brings its own");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
