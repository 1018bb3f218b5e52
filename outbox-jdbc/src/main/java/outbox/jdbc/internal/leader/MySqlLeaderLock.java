package outbox.jdbc.internal.leader;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Objects;

/**
 * A named lock of MySQL and MariaDB. Lock names are global to the server and have at most 64 characters, so the name
 * is a hash of the database and the table.
 */
final class MySqlLeaderLock implements LeaderLock {

    /** Binds: name. */
    private static final String LOOK = "SELECT CONNECTION_ID(), COALESCE(IS_USED_LOCK(?) = CONNECTION_ID(), 0)";

    private static final String BEAT = "SELECT CONNECTION_ID(), 1";

    /** Binds: name. */
    private static final String TAKE = "SELECT CONNECTION_ID(), COALESCE(GET_LOCK(?, 0), 0)";

    /** Binds: name. */
    private static final String RELEASE = "SELECT COALESCE(RELEASE_LOCK(?), 0)";

    private final String name;
    private long limitBefore; // the original timeout in seconds; 0 while it is unchanged

    MySqlLeaderLock(String table, Connection connection) throws SQLException {
        this.name = name(table, Objects.requireNonNullElse(connection.getCatalog(), ""));
    }

    /** Returns the lock name of a table. The given database is used if the table name contains none. */
    static String name(String table, String database) {
        String full = table.contains(".") ? table : database + "." + table;
        return "outbox:%016x".formatted(Fnv1a.hash("outbox:" + full));
    }

    @Override
    public Seen look(Connection connection) throws SQLException {
        return ask(connection, LOOK, name);
    }

    @Override
    public Seen beat(Connection connection) throws SQLException {
        return ask(connection, BEAT);
    }

    @Override
    public Seen tryTake(Connection connection) throws SQLException {
        return ask(connection, TAKE, name);
    }

    private static Seen ask(Connection connection, String sql, String... binds) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            for (int i = 0; i < binds.length; i++) {
                select.setString(i + 1, binds[i]);
            }
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return new Seen(row.getLong(1), row.getInt(2) == 1);
            }
        }
    }

    @Override
    public boolean release(Connection connection) throws SQLException {
        try (PreparedStatement unlock = connection.prepareStatement(RELEASE)) {
            unlock.setString(1, name);
            try (ResultSet row = unlock.executeQuery()) {
                row.next();
                return row.getInt(1) == 1;
            }
        }
    }

    /** The timeout of the server is in whole seconds. */
    @Override
    public void limitSilence(Connection connection, Duration term) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT @@SESSION.wait_timeout")) {
            row.next();
            limitBefore = row.getLong(1);
        }
        setLimit(connection, term.plusMillis(999).toSeconds());
    }

    @Override
    public void unlimitSilence(Connection connection) throws SQLException {
        if (limitBefore > 0) {
            setLimit(connection, limitBefore);
        }
    }

    private static void setLimit(Connection connection, long seconds) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SESSION wait_timeout = " + seconds);
        }
    }

    @Override
    public boolean isOfSession() {
        return true;
    }
}
