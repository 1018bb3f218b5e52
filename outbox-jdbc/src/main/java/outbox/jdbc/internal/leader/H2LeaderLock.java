package outbox.jdbc.internal.leader;

import outbox.OutboxException;
import outbox.jdbc.internal.sql.SqlStates;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.UUID;

/** A lease in a table, measured by the clock of the database. H2 has no lock that ends with the session. */
final class H2LeaderLock implements LeaderLock {

    /** Binds: milliseconds, table, holder. */
    private static final String RENEW = """
            UPDATE %1$s
               SET lease_until = DATEADD(MILLISECOND, ?, CURRENT_TIMESTAMP)
             WHERE outbox_table = ?
               AND holder = ?
               AND lease_until > CURRENT_TIMESTAMP
            """;

    /** Binds: holder, milliseconds, table. */
    private static final String TAKE_OVER = """
            UPDATE %1$s
               SET holder = ?, lease_until = DATEADD(MILLISECOND, ?, CURRENT_TIMESTAMP)
             WHERE outbox_table = ?
               AND lease_until <= CURRENT_TIMESTAMP
            """;

    /** Binds: holder, milliseconds, table, table. */
    private static final String TAKE_FIRST = """
            INSERT INTO %1$s (holder, lease_until, outbox_table)
            SELECT ?, DATEADD(MILLISECOND, ?, CURRENT_TIMESTAMP), ?
             WHERE NOT EXISTS (SELECT 1 FROM %1$s WHERE outbox_table = ?)
            """;

    /** Binds: table, holder. */
    private static final String RELEASE = """
            DELETE FROM %1$s
             WHERE outbox_table = ?
               AND holder = ?
            """;

    private static final long SESSION = 0; // a constant, because there is no proxy to detect
    private static final String DUPLICATE = "23505";

    private final String leases;
    private final String key;
    private final long millis;
    private final String holder = UUID.randomUUID().toString();

    H2LeaderLock(String table, Duration term) {
        this.leases = leases(table);
        this.key = key(table);
        this.millis = term.toMillis();
    }

    /** Returns the table of leases next to the given table. */
    static String leases(String table) {
        return table.substring(0, table.indexOf('.') + 1) + LeaderSession.LEASES;
    }

    /** Returns the value by which that table names the given table. */
    static String key(String table) {
        return table.substring(table.indexOf('.') + 1).toLowerCase(Locale.ROOT);
    }

    @Override
    public Seen look(Connection connection) throws SQLException {
        return new Seen(SESSION, update(connection, RENEW, millis, key, holder) == 1);
    }

    @Override
    public Seen beat(Connection connection) throws SQLException {
        return look(connection);
    }

    @Override
    public Seen tryTake(Connection connection) throws SQLException {
        try {
            boolean taken = update(connection, TAKE_OVER, holder, millis, key) == 1
                    || update(connection, TAKE_FIRST, holder, millis, key, key) == 1;
            return new Seen(SESSION, taken);
        } catch (SQLException e) {
            if (SqlStates.of(e).equals(DUPLICATE)) { // another node was first
                return new Seen(SESSION, false);
            }
            if (SqlStates.isTableMissing(e)) {
                throw new OutboxException(
                        "Nobody can lead table " + key + ", because table " + leases
                                + " is missing. Create it by OutboxSchema.createLeader, or as in "
                                + "META-INF/outbox/schema-leader of outbox-jdbc.",
                        e);
            }
            throw e;
        }
    }

    @Override
    public boolean release(Connection connection) throws SQLException {
        return update(connection, RELEASE, key, holder) == 1;
    }

    private int update(Connection connection, String sql, Object... binds) throws SQLException {
        try (PreparedStatement update = connection.prepareStatement(sql.formatted(leases))) {
            for (int i = 0; i < binds.length; i++) {
                update.setObject(i + 1, binds[i]);
            }
            return update.executeUpdate();
        }
    }

    @Override
    public void limitSilence(Connection connection, Duration term) {
        // Nothing to do: the lease expires by itself.
    }

    @Override
    public void unlimitSilence(Connection connection) {}

    @Override
    public boolean isOfSession() {
        return false;
    }
}
