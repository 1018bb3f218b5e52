package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.OptionalInt;
import javax.sql.DataSource;

/**
 * The number of attempts after which an event is dead, stored in the database. Table {@code outbox_attempt_limit} in
 * the same schema has a row for each table without a status column. The first relay of a table writes the row. A
 * relay or command with a different limit is refused. Only on PostgreSQL, and only if that table exists:
 * {@link LayoutSchema#create} creates it. See ADR 56.
 */
public final class AttemptLimits {

    private static final Logger LOG = SafeLogger.of(AttemptLimits.class);
    private static final Duration INTERVAL = Duration.ofMinutes(1);

    /** The table of limits, the name of our table in it, and the privileges of the current user. */
    private record Place(String table, String key, boolean mayRead, boolean mayWrite) {}

    private final LayoutEventStore store;
    // Written by claiming threads without a lock. Two threads may both query the database, which does no harm.
    private volatile long nextLookNanos = System.nanoTime();
    private volatile boolean warned;

    AttemptLimits(LayoutEventStore store) {
        this.store = store;
    }

    /** Returns the limit that the database has for this table, or empty if it has none. Changes nothing. */
    public static OptionalInt recorded(DataSource dataSource, TableLayout layout) {
        if (layout.statuses() != null) {
            return OptionalInt.empty(); // the status column identifies dead events
        }
        AttemptLimits limits = new AttemptLimits(LayoutEventStore.of(dataSource, layout));
        try (Connection connection = dataSource.getConnection()) {
            return limits.recorded(connection);
        } catch (SQLException e) {
            throw new EventStoreException(
                    "Cannot read the limit of attempts of table " + layout.table() + ": " + e.getMessage(), e);
        }
    }

    /**
     * Sets the limit of the table to that of the layout, for all nodes. Dead events stay dead and pending events
     * stay pending: if the old limit is known, their attempts are raised to the new limit or lowered to one less
     * than it. Stop the relays first. Relays that are still running are refused within a minute.
     *
     * @throws EventStoreException if there is no table of limits
     */
    public static void change(DataSource dataSource, TableLayout layout) {
        new AttemptLimits(LayoutEventStore.of(dataSource, layout)).change(dataSource);
    }

    private void change(DataSource dataSource) {
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(false);
            try {
                change(connection);
                connection.commit();
            } catch (SQLException | RuntimeException e) {
                connection.rollback();
                throw e;
            } finally {
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            throw new EventStoreException(
                    "Cannot change the limit of attempts of table " + store.table() + ": " + e.getMessage(), e);
        }
    }

    private void change(Connection conn) throws SQLException {
        Place place = place(conn);
        if (place == null) {
            throw new EventStoreException(
                    "There is no table outbox_attempt_limit in the schema of table " + store.table()
                            + ". Run: outbox schema apply --table " + store.table(),
                    null);
        }
        int limit = store.maxAttempts();
        OptionalInt before = read(conn, place, " FOR UPDATE");
        if (before.isPresent()) {
            moveAttempts(conn, before.getAsInt(), limit);
        }
        // Binds: table, limit.
        String upsert = "INSERT INTO " + place.table() + " (table_name, max_attempts) VALUES (?, ?)"
                + " ON CONFLICT (table_name) DO UPDATE SET max_attempts = EXCLUDED.max_attempts, set_at = now()";
        write(conn, upsert, place.key(), limit);
    }

    /** Changes attempts so that dead events stay dead and pending events stay pending. */
    private void moveAttempts(Connection conn, int before, int limit) throws SQLException {
        if (before == limit) {
            return;
        }
        String attempts = store.sql().column(LayoutColumn.ATTEMPTS);
        boolean isHigher = limit > before;
        String condition = isHigher
                ? attempts + " >= " + before + " AND " + attempts + " < " + limit // dead under the old limit
                : attempts + " >= " + limit + " AND " + attempts + " < " + before; // pending under the old limit
        String sql = "UPDATE " + store.sqlName() + " SET " + attempts + " = " + (isHigher ? limit : limit - 1)
                + " WHERE " + store.sql().notDone() + " AND " + condition;
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            update.executeUpdate();
        }
    }

    /**
     * Writes the limit of this node if the table has none, and refuses a node that has a different limit. Queries
     * the database once a minute, so that a running node notices a change. A node that was refused queries it on
     * each call.
     *
     * @throws EventStoreException if the limits differ
     */
    void agree(Connection conn) throws SQLException {
        if (!isKept() || System.nanoTime() - nextLookNanos < 0) {
            return;
        }
        Place place = place(conn);
        if (place == null || !place.mayRead()) {
            warnOnce(
                    place == null
                            ? ". Run: outbox schema apply --table " + store.table()
                            : ": grant SELECT and INSERT on " + place.table() + " to the user of this node");
        } else {
            if (read(conn, place, "").isEmpty() && place.mayWrite()) {
                // Binds: table, limit. If another node writes at the same time, its limit applies.
                String insert = "INSERT INTO " + place.table()
                        + " (table_name, max_attempts) VALUES (?, ?) ON CONFLICT (table_name) DO NOTHING";
                write(conn, insert, place.key(), store.maxAttempts());
            }
            requireSame(read(conn, place, ""));
        }
        nextLookNanos = System.nanoTime() + INTERVAL.toNanos();
    }

    private void warnOnce(String fix) {
        if (!warned) {
            warned = true;
            LOG.log(
                    Level.WARNING,
                    "The database does not know that events of table " + store.table() + " are dead after "
                            + store.maxAttempts() + " attempts, so commands can only assume it" + fix);
        }
    }

    /** @throws EventStoreException if the limit in the database differs from that of this store */
    void require(Connection conn) {
        requireSame(store.run("read the limit of attempts", () -> recorded(conn)));
    }

    private void requireSame(OptionalInt recorded) {
        if (recorded.isPresent() && recorded.getAsInt() != store.maxAttempts()) {
            throw new EventStoreException(
                    "Events of table " + store.table() + " are dead after " + recorded.getAsInt()
                            + " attempts, as the database knows, but the limit that was given here is "
                            + store.maxAttempts() + ". Give " + recorded.getAsInt()
                            + "; or stop all relays of the table and run: outbox schema apply --table " + store.table()
                            + " --max-attempts " + store.maxAttempts(),
                    null);
        }
    }

    private OptionalInt recorded(Connection conn) throws SQLException {
        Place place = isKept() ? place(conn) : null;
        return place == null || !place.mayRead() ? OptionalInt.empty() : read(conn, place, "");
    }

    /** Whether a table of this layout can have a limit in the database. */
    private boolean isKept() {
        return store.sql().isPostgres() && store.layout().statuses() == null;
    }

    /** Queries the catalog, so that neither a missing table nor a missing privilege aborts the transaction. */
    private @Nullable Place place(Connection conn) throws SQLException {
        // Binds: the outbox table.
        String sql = """
                SELECT quote_ident(n.nspname) || '.' || l.relname,
                       c.relname,
                       has_table_privilege(l.oid, 'SELECT'),
                       has_table_privilege(l.oid, 'INSERT')
                  FROM pg_class c
                  JOIN pg_namespace n ON n.oid = c.relnamespace
                  JOIN pg_class l ON l.relnamespace = n.oid AND l.relname = 'outbox_attempt_limit' AND l.relkind = 'r'
                 WHERE c.oid = to_regclass(?)
                """;
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            select.setString(1, store.sqlName());
            try (ResultSet row = select.executeQuery()) {
                return row.next()
                        ? new Place(row.getString(1), row.getString(2), row.getBoolean(3), row.getBoolean(4))
                        : null;
            }
        }
    }

    private static OptionalInt read(Connection conn, Place place, String lock) throws SQLException {
        // Binds: table.
        String sql = "SELECT max_attempts FROM " + place.table() + " WHERE table_name = ?" + lock;
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            select.setString(1, place.key());
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? OptionalInt.of(row.getInt(1)) : OptionalInt.empty();
            }
        }
    }

    private static void write(Connection conn, String sql, String key, int limit) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            update.setString(1, key);
            update.setInt(2, limit);
            update.executeUpdate();
        }
    }
}
