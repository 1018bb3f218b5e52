package outbox.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import javax.sql.DataSource;

/**
 * The DDL that ships with the library, for programs that create their table themselves. Migration tools read the same files from {@code META-INF/outbox/schema}, and for
 * ordered delivery from {@code META-INF/outbox/schema-order}.
 */
public final class OutboxSchema {

    private static final String TABLE = "META-INF/outbox/schema/%s/V1__outbox_event.sql";

    /** The migration that makes order possible. Apart from the others, because its column and index cost every write and are of use to ordered delivery only. */
    static final String ORDER = "META-INF/outbox/schema-order/%s/V2__outbox_order.sql";

    /** The table of pauses, of use to those who pause only. */
    static final String PAUSES = "META-INF/outbox/schema-control/%s/V4__outbox_pause.sql";

    private OutboxSchema() {}

    /** The statements that create the table of the given store, and the audit table beside it. */
    public static List<String> statements(AbstractJdbcEventStore store) {
        return statements(store, TABLE);
    }

    /** The statements that make the table fit for ordered delivery, once. */
    public static List<String> orderStatements(AbstractJdbcEventStore store) {
        return statements(store, ORDER);
    }

    /** The statements that create the table of pauses. */
    public static List<String> pauseStatements(AbstractJdbcEventStore store) {
        return statements(store, PAUSES);
    }

    private static List<String> statements(AbstractJdbcEventStore store, String migration) {
        String script = read(migration.formatted(store.name()));
        String name = store.table().simpleName();
        String withoutComments = script.replaceAll("--[^\\n]*", "");
        return Arrays.stream(withoutComments.split(";"))
                .map(String::strip)
                .filter(statement -> !statement.isEmpty())
                .map(statement -> statement
                        .replaceAll("\\boutbox_event\\b", store.table().value())
                        .replaceAll("\\boutbox_event_(due|status|lease|seq|order)\\b", name + "_$1")
                        .replaceAll(
                                "\\boutbox_audit\\b",
                                AuditStatements.table(store).value())
                        .replaceAll(
                                "\\boutbox_pause\\b",
                                PauseStatements.table(store).value()))
                .toList();
    }

    /** Creates what is not there yet. Several nodes may do so at the same time. */
    public static void create(DataSource dataSource, AbstractJdbcEventStore store) {
        withAutoCommit(dataSource, store, connection -> createTable(connection, store));
    }

    /** Creates what is not there yet, and makes the table fit for ordered delivery: adds the number that events get from the database, and its index. */
    public static void createOrdered(DataSource dataSource, AbstractJdbcEventStore store) {
        withAutoCommit(dataSource, store, connection -> {
            createTable(connection, store);
            if (!hasOrder(connection, store)) {
                addOrder(connection, store);
            }
        });
    }

    /** Creates the table of pauses if it is not there yet. */
    public static void createPauses(DataSource dataSource, AbstractJdbcEventStore store) {
        withAutoCommit(dataSource, store, connection -> {
            try (Statement statement = connection.createStatement()) {
                for (String sql : statements(store, PAUSES)) {
                    execute(statement, sql);
                }
            }
        });
    }

    /** Some DDL. */
    private interface Ddl {
        void on(Connection connection) throws SQLException;
    }

    private static void withAutoCommit(DataSource dataSource, AbstractJdbcEventStore store, Ddl ddl) {
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            try {
                connection.setAutoCommit(true);
                ddl.on(connection);
            } finally {
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            throw new EventStoreException("Cannot create table " + store.table() + ": " + e.getMessage(), e);
        }
    }

    private static void createTable(Connection connection, AbstractJdbcEventStore store) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements(store, TABLE)) {
                execute(statement, sql);
            }
        }
        TableShape.read(connection, store.table());
    }

    private static boolean hasOrder(Connection connection, AbstractJdbcEventStore store) throws SQLException {
        return TableShape.read(connection, store.table()).has(OrderStatements.COLUMN);
    }

    /**
     * Asked for only while the column is missing: MySQL has no IF NOT EXISTS for it, and PostgreSQL would lock the whole table to find out. In one transaction, so that where DDL
     * takes part in it nobody sees the column without its index.
     */
    private static void addOrder(Connection connection, AbstractJdbcEventStore store) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements(store, ORDER)) {
                statement.execute(sql);
            }
            connection.commit();
        } catch (SQLException e) {
            connection.rollback();
            if (!hasOrder(connection, store)) { // else another node was faster
                throw e;
            }
        } finally {
            connection.setAutoCommit(true);
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

    private static String read(String resource) {
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
