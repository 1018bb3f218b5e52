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

/** The DDL that ships with the library, for programs that create their table themselves. Migration tools read the same files from {@code META-INF/outbox/schema}. */
public final class OutboxSchema {

    private OutboxSchema() {}

    /** The statements that create the table of the given store, and the audit table beside it. */
    public static List<String> statements(AbstractJdbcEventStore store) {
        String script = read("META-INF/outbox/schema/" + store.name() + "/V1__outbox_event.sql");
        String name = store.table().simpleName();
        String withoutComments = script.replaceAll("--[^\\n]*", "");
        return Arrays.stream(withoutComments.split(";"))
                .map(String::strip)
                .filter(statement -> !statement.isEmpty())
                .map(statement -> statement
                        .replaceAll("\\boutbox_event\\b", store.table().value())
                        .replaceAll("\\boutbox_event_(due|status|lease)\\b", name + "_$1")
                        .replaceAll(
                                "\\boutbox_audit\\b",
                                AuditStatements.table(store).value()))
                .toList();
    }

    /** Creates what is not there yet. Several nodes may do so at the same time. */
    public static void create(DataSource dataSource, AbstractJdbcEventStore store) {
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(true);
            try (Statement statement = connection.createStatement()) {
                for (String sql : statements(store)) {
                    execute(statement, sql);
                }
            } finally {
                connection.setAutoCommit(autoCommit);
            }
            TableShape.read(connection, store.table());
        } catch (SQLException e) {
            throw new EventStoreException("Cannot create table " + store.table() + ": " + e.getMessage(), e);
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
