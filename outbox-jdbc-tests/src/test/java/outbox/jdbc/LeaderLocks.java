package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.leader.LockNames;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Reads the locks of leaders from the database, for the table of the tests. */
final class LeaderLocks {

    private static final String TABLE = AbstractJdbcEventStore.DEFAULT_TABLE;

    private final Databases database;
    private final StoreFixture db;

    LeaderLocks(Databases database, StoreFixture db) {
        this.database = database;
        this.db = db;
    }

    /**
     * Returns the sessions that hold the lock, as often as the database lists them. On H2, returns the
     * lease holders.
     */
    List<String> holders() {
        return db.call(connection -> query(
                connection,
                switch (database) {
                    case POSTGRES ->
                        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = "
                                + "(SELECT oid FROM pg_database WHERE datname = current_database())";
                    case MARIADB, MYSQL -> "SELECT IS_USED_LOCK('" + name(connection) + "')";
                    default -> "SELECT holder FROM outbox_leader WHERE lease_until > CURRENT_TIMESTAMP";
                }));
    }

    private static String name(Connection connection) throws SQLException {
        return LockNames.onMySql(TABLE, connection);
    }

    /** Ends the session or the lease of the leader, as an administrator or a failover does. */
    void terminate() {
        terminate(holders().get(0));
    }

    /** Does the same if there is a leader at the moment. A leader that is too slow loses its session by itself. */
    boolean terminateIfAny() {
        List<String> holders = holders();
        holders.forEach(this::terminate);
        return !holders.isEmpty();
    }

    private void terminate(String holder) {
        db.call(connection -> query(
                connection,
                switch (database) {
                    case POSTGRES -> "SELECT pg_terminate_backend(" + holder + ")";
                    case MARIADB, MYSQL -> "KILL " + holder;
                    default -> "DELETE FROM outbox_leader"; // a lease does not belong to a session
                }));
    }

    private static List<String> query(Connection connection, String sql) throws SQLException {
        List<String> answers = new ArrayList<>();
        try (Statement statement = connection.createStatement()) {
            if (statement.execute(sql)) {
                ResultSet rows = statement.getResultSet();
                while (rows.next()) {
                    @Nullable String answer = rows.getString(1);
                    if (answer != null) {
                        answers.add(answer);
                    }
                }
            }
        }
        return answers;
    }
}
