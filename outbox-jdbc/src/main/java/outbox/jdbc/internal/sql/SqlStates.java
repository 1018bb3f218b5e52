package outbox.jdbc.internal.sql;

import java.sql.SQLException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.util.List;
import java.util.Set;

/** Classifies database errors by SQLState and error code, never by the text of the message. */
public final class SqlStates {

    // The last two are those of H2.
    private static final Set<String> MISSING_TABLE = Set.of("42P01", "42S02", "42S03", "42S04");

    private static final List<String> PASSING = List.of("08", "40", "53", "55", "57", "58", "HYT");
    // disk or table full, lock wait timeout, read-only
    private static final Set<Integer> MYSQL_PASSING = Set.of(1021, 1114, 1205, 1290, 1836);
    // the server went away; ProxySQL and MaxScale report a general SQLState for these
    private static final Set<Integer> MYSQL_LOST = Set.of(1053, 2006, 2013);

    private SqlStates() {}

    public static String of(SQLException error) {
        return error.getSQLState() == null ? "" : error.getSQLState();
    }

    /** Whether the statement named a table that does not exist. */
    public static boolean isTableMissing(SQLException error) {
        return MISSING_TABLE.contains(of(error));
    }

    /** Whether the error may be temporary: connection, conflict, resources, locks, intervention. */
    public static boolean isPassing(SQLException error) {
        String state = of(error);
        return state.isEmpty()
                || PASSING.stream().anyMatch(state::startsWith)
                || MYSQL_PASSING.contains(error.getErrorCode())
                || MYSQL_LOST.contains(error.getErrorCode());
    }

    /**
     * Whether the connection broke, so that it is unknown whether the last statement took effect. An error without
     * an SQLState does not come from the server either.
     */
    public static boolean isOutcomeUnknown(SQLException error) {
        String state = of(error);
        return state.isEmpty()
                || state.startsWith("08")
                || state.equals("40003") // statement completion unknown
                || state.startsWith("57P") // PostgreSQL: the server is shutting down
                || MYSQL_LOST.contains(error.getErrorCode())
                || error instanceof SQLRecoverableException
                || error instanceof SQLTimeoutException;
    }
}
