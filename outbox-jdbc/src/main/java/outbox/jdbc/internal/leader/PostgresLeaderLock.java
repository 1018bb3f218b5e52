package outbox.jdbc.internal.leader;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** A session-level advisory lock. Its key is the hash of {@code outbox:} and the table name. */
final class PostgresLeaderLock implements LeaderLock {

    /** Binds: upper half of the key, lower half. A lock by one 64-bit key has objsubid 1. */
    private static final String LOOK = """
            SELECT pg_backend_pid(),
                   EXISTS (SELECT 1
                             FROM pg_locks
                            WHERE locktype = 'advisory'
                              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                              AND classid::bigint = ?
                              AND objid::bigint = ?
                              AND objsubid = 1
                              AND pid = pg_backend_pid()
                              AND granted)
            """;

    private static final String BEAT = "SELECT pg_backend_pid(), true";

    /** Binds: key. */
    private static final String TAKE = "SELECT pg_backend_pid(), pg_try_advisory_lock(?)";

    /** Binds: key. */
    private static final String RELEASE = "SELECT pg_advisory_unlock(?)";

    private static final int LOW_BITS = 32;
    private static final long LOW_MASK = 0xffffffffL;
    private static final int FIRST_WITH_IDLE_LIMIT = 14;

    private final long key;

    PostgresLeaderLock(String table) {
        this.key = key(table);
    }

    static long key(String table) {
        return Fnv1a.hash("outbox:" + table);
    }

    @Override
    public Seen look(Connection connection) throws SQLException {
        return ask(connection, LOOK, key >>> LOW_BITS, key & LOW_MASK);
    }

    @Override
    public Seen beat(Connection connection) throws SQLException {
        return ask(connection, BEAT);
    }

    @Override
    public Seen tryTake(Connection connection) throws SQLException {
        return ask(connection, TAKE, key);
    }

    private static Seen ask(Connection connection, String sql, long... binds) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            for (int i = 0; i < binds.length; i++) {
                select.setLong(i + 1, binds[i]);
            }
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return new Seen(row.getLong(1), row.getBoolean(2));
            }
        }
    }

    @Override
    public boolean release(Connection connection) throws SQLException {
        try (PreparedStatement unlock = connection.prepareStatement(RELEASE)) {
            unlock.setLong(1, key);
            try (ResultSet row = unlock.executeQuery()) {
                row.next();
                return row.getBoolean(1);
            }
        }
    }

    /**
     * Older servers have no timeout for idle sessions. There, the lock of a frozen process is released when its
     * connection breaks.
     */
    @Override
    public void limitSilence(Connection connection, Duration term) throws SQLException {
        if (connection.getMetaData().getDatabaseMajorVersion() >= FIRST_WITH_IDLE_LIMIT) {
            execute(connection, "SET idle_session_timeout = " + term.toMillis());
        }
    }

    @Override
    public void unlimitSilence(Connection connection) throws SQLException {
        if (connection.getMetaData().getDatabaseMajorVersion() >= FIRST_WITH_IDLE_LIMIT) {
            execute(connection, "RESET idle_session_timeout");
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public boolean isOfSession() {
        return true;
    }
}
