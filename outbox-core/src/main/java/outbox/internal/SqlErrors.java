package outbox.internal;

import org.jspecify.annotations.Nullable;

import java.sql.SQLDataException;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;

/** Classifies database errors by SQLState and vendor code, never by the words of a message. */
public final class SqlErrors {

    private static final Set<Integer> MYSQL_LOCKED = Set.of(1205, 3572); // lock wait timeout; NOWAIT
    private static final Set<String> LOCKED = Set.of("55P03", "HYT00"); // PostgreSQL, H2
    /**
     * Errors that may be temporary, by SQLState class: connection, transaction state, login, database, conflict,
     * resources, locks, operator intervention, system, timeout.
     */
    private static final List<String> PASSING =
            List.of("08", "25", "28", "3D", "3F", "40", "53", "55", "57", "58", "HYT");

    /** No such table: PostgreSQL, MySQL and H2. The table may currently be moved or renamed. */
    private static final Set<String> NO_TABLE = Set.of("42P01", "42S02", "42S03", "42S04");

    /**
     * Errors that may be temporary: disk or table full, read-only, no such database or table, no privilege on a
     * whole table.
     */
    private static final Set<Integer> MYSQL_PASSING =
            Set.of(1021, 1044, 1045, 1049, 1114, 1142, 1143, 1146, 1290, 1792, 1836);

    /** The column cannot store the text. Some of these errors have a general SQLState. */
    private static final Set<Integer> MYSQL_DATA = Set.of(1264, 1265, 1366, 1406, 3988);

    /** The connection to the server was lost. ProxySQL and MaxScale use a general SQLState for this. */
    private static final Set<Integer> MYSQL_LOST = Set.of(1053, 2006, 2013);

    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle

    private SqlErrors() {}

    /**
     * Whether the transaction conflicted with another one and can be repeated: deadlock, serialization failure,
     * locked row.
     */
    public static boolean isConflict(Throwable error) {
        SQLException sql = find(error);
        return sql != null
                && (stateOf(sql).startsWith("40") && !stateOf(sql).equals("40003")
                        || MYSQL_LOCKED.contains(sql.getErrorCode()));
    }

    /** Whether another transaction has locked a row or table that the statement needs. */
    public static boolean isLocked(Throwable error) {
        SQLException sql = find(error);
        return sql != null && (LOCKED.contains(stateOf(sql)) || MYSQL_LOCKED.contains(sql.getErrorCode()));
    }

    /**
     * Whether the database understood the statement and rejected it, perhaps because of a single row. Returns false
     * for errors that may be temporary: connection, login, read-only, a missing table or privilege, conflict,
     * resources, locks, operator intervention.
     */
    public static boolean isRefusal(Throwable error) {
        SQLException sql = find(error);
        if (sql == null || isConflict(error) || stateOf(sql).isEmpty()) {
            return false;
        }
        return isDataError(error)
                || PASSING.stream().noneMatch(stateOf(sql)::startsWith)
                        && !NO_TABLE.contains(stateOf(sql))
                        && !MYSQL_PASSING.contains(sql.getErrorCode())
                        && !MYSQL_LOST.contains(sql.getErrorCode());
    }

    /** Whether a value cannot be stored because it is too long or has characters that the column cannot store. */
    public static boolean isDataError(Throwable error) {
        SQLException sql = find(error);
        return sql != null && (stateOf(sql).startsWith("22") || MYSQL_DATA.contains(sql.getErrorCode()));
    }

    /**
     * Whether reading rows may have failed because of one of them: the row is too large for the memory, is corrupt,
     * or has a value that the driver cannot read. Reading the other rows without it may succeed.
     */
    public static boolean isUnreadable(Throwable error) {
        Throwable cause = error;
        for (int i = 0; i < MAX_CAUSES && cause != null; i++, cause = cause.getCause()) {
            if (cause instanceof OutOfMemoryError || cause instanceof SQLDataException) {
                return true;
            }
        }
        return find(error) == null ? error instanceof RuntimeException : isRefusal(error);
    }

    /**
     * Whether the connection was lost during the transaction, so that the transaction may still have committed.
     * False if the connection was never established.
     */
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

    /** Returns the first SQLException in the chain of causes, or null. */
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
