package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.UUID;
import javax.sql.DataSource;

/** A new {@code org_outbox} on PostgreSQL, and plain SQL to write and read its rows like any other program. */
final class ModuleTable {

    static final UUID TENANT = UUID.fromString("7f000000-0000-4000-8000-000000000001");
    static final String TOPIC = "org.organization.created.v1";

    final DataSource dataSource;
    final LayoutEventStore store;
    final String table;

    ModuleTable() {
        this("public.org_outbox", 25);
    }

    ModuleTable(String table, int maxAttempts) {
        this(
                table,
                maxAttempts,
                Databases.POSTGRES.pool(
                        "module " + table + " " + maxAttempts,
                        pool -> LayoutSchema.create(pool, store(pool, table, maxAttempts))));
    }

    private ModuleTable(String table, int maxAttempts, DataSource dataSource) {
        this.table = table;
        this.dataSource = dataSource;
        this.store = store(maxAttempts);
    }

    /** Creates a partitioned table in a separate schema. */
    static ModuleTable partitioned(String table) {
        ModuleTable created = new ModuleTable(table, 25, Databases.newPool(Databases.POSTGRES.url(), 10, true));
        created.execute("CREATE SCHEMA " + table.substring(0, table.indexOf('.')));
        LayoutSchema.createPartitioned(created.dataSource, created.store);
        return created;
    }

    /** Returns the store of another node on the same table. */
    LayoutEventStore store(int maxAttempts) {
        return store(dataSource, table, maxAttempts);
    }

    private static LayoutEventStore store(DataSource dataSource, String table, int maxAttempts) {
        return LayoutEventStore.of(dataSource, TableLayout.module(table).withMaxAttempts(maxAttempts));
    }

    /** The columns of a row that the tests compare. */
    record Row(
            boolean published,
            int attempts,
            boolean locked,
            @Nullable String lastError) {}

    UUID insert(String payload) {
        return insert(UUID.randomUUID(), payload);
    }

    UUID insert(UUID eventId, String payload) {
        execute(
                "INSERT INTO " + table + " (tenant_id, topic, payload, event_id) VALUES (?, ?, CAST(? AS jsonb), ?)",
                TENANT,
                TOPIC,
                payload,
                eventId);
        return eventId;
    }

    Row row(UUID eventId) {
        return query(
                "SELECT published_at IS NOT NULL, attempts, locked_at IS NOT NULL, last_error FROM " + table
                        + " WHERE event_id = ?",
                row -> new Row(row.getBoolean(1), row.getInt(2), row.getBoolean(3), row.getString(4)),
                eventId);
    }

    long count(String condition) {
        return number("SELECT COUNT(*) FROM " + table + " WHERE " + condition);
    }

    /** Maps the only row of a result. */
    interface Mapper<T> {
        T map(ResultSet row) throws SQLException;
    }

    <T> T query(String sql, Mapper<T> mapper, Object... values) {
        try (Connection connection = dataSource.getConnection();
                PreparedStatement select = connection.prepareStatement(sql)) {
            bind(select, values);
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new AssertionError("No row: " + sql);
                }
                return mapper.map(row);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    long number(String sql) {
        return this.<Long>query(sql, row -> row.getLong(1));
    }

    String text(String sql, Object... values) {
        return this.<String>query(sql, row -> row.getString(1), values);
    }

    int execute(String sql, Object... values) {
        try (Connection connection = dataSource.getConnection();
                PreparedStatement update = connection.prepareStatement(sql)) {
            bind(update, values);
            return update.executeUpdate();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
    }
}
