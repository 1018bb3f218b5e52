package outbox.internal;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.List;
import java.util.Set;

/** Reads what a database said, by SQLState and vendor code, never by the words of a message. */
public final class SqlErrors {

    private static final int MYSQL_LOCK_WAIT_TIMEOUT = 1205; // with the SQLState of a general error
    private static final List<String> PASSING = List.of("08", "40", "53", "55", "57", "58");
    private static final Set<Integer> MYSQL_PASSING =
            Set.of(1021, 1114, 1290, 1836); // disk full, table full, read-only: general errors by their SQLState
    private static final Set<Integer> MYSQL_LOST =
            Set.of(1053, 2006, 2013); // the server went away; ProxySQL and MaxScale give a general SQLState
    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle

    private SqlErrors() {}

    /** Whether the transaction lost against another one and may simply be repeated: deadlock, serialisation failure, lock wait timeout. */
    public static boolean isConflict(Throwable error) {
        SQLException sql = find(error);
        return sql != null
                && (stateOf(sql).startsWith("40") && !stateOf(sql).equals("40003")
                        || sql.getErrorCode() == MYSQL_LOCK_WAIT_TIMEOUT);
    }

    /**
     * Whether the database understood and refused, so that repeating the same cannot help. What may pass by itself is not: connection, conflict, resources, locks, intervention.
     */
    public static boolean isRefusal(Throwable error) {
        SQLException sql = find(error);
        if (sql == null || isConflict(error) || stateOf(sql).isEmpty()) {
            return false;
        }
        return PASSING.stream().noneMatch(stateOf(sql)::startsWith)
                && !MYSQL_PASSING.contains(sql.getErrorCode())
                && !MYSQL_LOST.contains(sql.getErrorCode());
    }

    /** Whether the connection broke on the way, so that the transaction may have been committed all the same; not if there never was a connection. */
    public static boolean isOutcomeUnknown(Throwable error) {
        SQLException sql = find(error);
        if (sql != null && MYSQL_LOST.contains(sql.getErrorCode())) {
            return true;
        }
        String state = sql == null ? "" : stateOf(sql);
        return !state.equals("08001")
                && !state.equals("08004")
                && (state.isEmpty() || state.startsWith("08") || state.startsWith("57P"));
    }

    public static String stateOf(SQLException sql) {
        return sql.getSQLState() == null ? "" : sql.getSQLState();
    }

    /** The first SQLException of the chain of causes, or null. */
    public static @Nullable SQLException find(Throwable error) {
        Throwable cause = error;
        for (int i = 0; i < MAX_CAUSES && cause != null; i++, cause = cause.getCause()) {
            if (cause instanceof SQLException sql) {
                return sql;
            }
        }
        return null;
    }
}
