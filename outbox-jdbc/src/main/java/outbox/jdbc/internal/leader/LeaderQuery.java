package outbox.jdbc.internal.leader;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.sql.SqlStates;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Objects;
import java.util.Optional;

/** Queries which session leads a table, without trying to become the leader. */
public final class LeaderQuery {

    /** Binds: upper half of the key, lower half. */
    private static final String POSTGRES = """
            SELECT l.pid::text, a.application_name, host(a.client_addr), a.backend_start
              FROM pg_locks l
              LEFT JOIN pg_stat_activity a ON a.pid = l.pid
             WHERE l.locktype = 'advisory'
               AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
               AND l.classid::bigint = ?
               AND l.objid::bigint = ?
               AND l.objsubid = 1
               AND l.granted
            """;

    /** Binds: name of the lock. A user without the PROCESS privilege sees only its own sessions. */
    private static final String MYSQL = """
            SELECT CAST(u.id AS CHAR), p.user, p.host
              FROM (SELECT IS_USED_LOCK(?) AS id) u
              LEFT JOIN information_schema.processlist p ON p.id = u.id
             WHERE u.id IS NOT NULL
            """;

    /** Binds: table. */
    private static final String H2 = """
            SELECT holder
              FROM %s
             WHERE outbox_table = ?
               AND lease_until > CURRENT_TIMESTAMP
            """;

    private LeaderQuery() {}

    /** Makes a leader from the values that the database reports. A value that it does not report is null. */
    @FunctionalInterface
    public interface Found<T> {
        T leader(String session, @Nullable String application, @Nullable String host, @Nullable Instant since);
    }

    public static <T> Optional<T> ask(Connection connection, String product, String table, Found<T> found)
            throws SQLException {
        return switch (product) {
            case "postgresql" -> postgres(connection, PostgresLeaderLock.key(table), found);
            case "mysql" -> mySql(connection, table, found);
            default -> h2(connection, table, found);
        };
    }

    private static <T> Optional<T> postgres(Connection connection, long key, Found<T> found) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(POSTGRES)) {
            select.setLong(1, key >>> 32);
            select.setLong(2, key & 0xffffffffL);
            try (ResultSet row = select.executeQuery()) {
                return row.next()
                        ? Optional.of(
                                found.leader(row.getString(1), blank(row.getString(2)), row.getString(3), time(row)))
                        : Optional.empty();
            }
        }
    }

    private static @Nullable Instant time(ResultSet row) throws SQLException {
        OffsetDateTime time = row.getObject(4, OffsetDateTime.class);
        return time == null ? null : time.toInstant();
    }

    private static <T> Optional<T> mySql(Connection connection, String table, Found<T> found) throws SQLException {
        String name = MySqlLeaderLock.name(table, Objects.requireNonNullElse(connection.getCatalog(), ""));
        try (PreparedStatement select = connection.prepareStatement(MYSQL)) {
            select.setString(1, name);
            try (ResultSet row = select.executeQuery()) {
                return row.next()
                        ? Optional.of(
                                found.leader(row.getString(1), blank(row.getString(2)), blank(row.getString(3)), null))
                        : Optional.empty();
            }
        }
    }

    private static <T> Optional<T> h2(Connection connection, String table, Found<T> found) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(H2.formatted(H2LeaderLock.leases(table)))) {
            select.setString(1, H2LeaderLock.key(table));
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? Optional.of(found.leader(row.getString(1), null, null, null)) : Optional.empty();
            }
        } catch (SQLException e) {
            if (SqlStates.isTableMissing(e)) {
                return Optional.empty(); // without a table of leases there is no leader
            }
            throw e;
        }
    }

    private static @Nullable String blank(@Nullable String text) {
        return text == null || text.isBlank() ? null : text;
    }
}
