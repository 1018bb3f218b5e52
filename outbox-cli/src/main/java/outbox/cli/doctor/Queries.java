package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Queries about one table. Times are bound and read by the type of their column, as UTC if the type has no time zone.
 */
public final class Queries {

    private final Connection connection;
    private final String table;
    private final Map<String, Boolean> zoned = new HashMap<>(); // column in lower case → whether it has a zone

    private Queries(String table, Connection connection) {
        this.connection = connection;
        this.table = table;
    }

    /** For a table whose rows cannot be read: has no columns. */
    static Queries ofUnreadable(Connection connection, String table) {
        return new Queries(table, connection);
    }

    /** The name of the table must have been checked by a store. */
    public Queries(Connection connection, String table) throws SQLException {
        this(table, connection);
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT * FROM " + table + " WHERE 1 = 0")) {
            ResultSetMetaData columns = rows.getMetaData();
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                zoned.put(columns.getColumnName(i).toLowerCase(Locale.ROOT), isZoned(columns, i));
            }
        }
    }

    private static boolean isZoned(ResultSetMetaData columns, int i) throws SQLException {
        String type = columns.getColumnTypeName(i).toLowerCase(Locale.ROOT);
        return columns.getColumnType(i) == Types.TIMESTAMP_WITH_TIMEZONE || type.equals("timestamptz");
    }

    /** The names of all columns, in lower case. */
    public Set<String> columns() {
        return Set.copyOf(zoned.keySet());
    }

    boolean hasColumn(String name) {
        return zoned.containsKey(name);
    }

    boolean isZoned(String column) {
        return zoned.getOrDefault(column, false);
    }

    /** The value to bind when the column is compared with a time. */
    public Object time(String column, Instant time) {
        return isZoned(column) ? time.atOffset(ZoneOffset.UTC) : LocalDateTime.ofInstant(time, ZoneOffset.UTC);
    }

    /** The number of rows that match. Binds: the values. */
    public long count(String condition, Object... values) throws SQLException {
        return number("SELECT COUNT(*) FROM " + table + " WHERE " + condition, values);
    }

    /** The smallest time in a column. */
    Optional<Instant> earliest(String column, String condition, Object... values) throws SQLException {
        return time("MIN", column, condition, values);
    }

    /** The largest time in a column. */
    Optional<Instant> latest(String column, String condition, Object... values) throws SQLException {
        return time("MAX", column, condition, values);
    }

    private Optional<Instant> time(String function, String column, String condition, Object... values)
            throws SQLException {
        String sql = "SELECT " + function + "(" + column + ") FROM " + table + " WHERE " + condition;
        try (PreparedStatement select = prepared(sql, values);
                ResultSet row = select.executeQuery()) {
            row.next();
            if (isZoned(column)) {
                return Optional.ofNullable(row.getObject(1, OffsetDateTime.class))
                        .map(OffsetDateTime::toInstant);
            }
            return Optional.ofNullable(row.getObject(1, LocalDateTime.class))
                    .map(time -> time.toInstant(ZoneOffset.UTC));
        }
    }

    long number(String sql, Object... values) throws SQLException {
        try (PreparedStatement select = prepared(sql, values);
                ResultSet row = select.executeQuery()) {
            return row.next() ? row.getLong(1) : 0;
        }
    }

    /** The rows of a query, as strings. */
    List<List<@Nullable String>> rows(String sql, Object... values) throws SQLException {
        List<List<@Nullable String>> found = new ArrayList<>();
        try (PreparedStatement select = prepared(sql, values);
                ResultSet rows = select.executeQuery()) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                List<@Nullable String> row = new ArrayList<>();
                for (int i = 1; i <= columns; i++) {
                    row.add(rows.getString(i));
                }
                found.add(row);
            }
        }
        return found;
    }

    private PreparedStatement prepared(String sql, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
        return statement;
    }
}
