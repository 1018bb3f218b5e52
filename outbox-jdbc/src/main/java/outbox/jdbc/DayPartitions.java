package outbox.jdbc;

import outbox.jdbc.internal.sql.SqlStates;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The daily partitions of a table, maintained on a given connection; see {@link ModulePartitions}.
 *
 * <p>Thread-safe.
 */
final class DayPartitions {

    static final int MAX_DAYS = 366;
    static final int MAX_NAME = 63 - "_p20260101".length();

    private static final int DAYS_AHEAD = 7; // so that partitions exist even if no purge runs for a week
    private static final int LOCK_MILLIS = 200;
    private static final String LOCK_NOT_AVAILABLE = "55P03";
    private static final String CHECK_VIOLATION = "23514"; // the default partition already has rows of that day
    private static final String DUPLICATE_TABLE = "42P07"; // another node created it
    private static final String UNDEFINED_TABLE = "42P01"; // another node dropped it
    private static final DateTimeFormatter DAY = DateTimeFormatter.BASIC_ISO_DATE;

    private final LayoutEventStore store;
    private final Pattern names;

    DayPartitions(LayoutEventStore store) {
        this.store = store;
        this.names = Pattern.compile(Pattern.quote(store.table().simpleName()) + "_p([0-9]{8})");
    }

    /** Whether the table can have such partitions. */
    static boolean canBeOf(LayoutEventStore store) {
        return store.sql().isPostgres() && store.layout().name().equals(TableLayout.MODULE);
    }

    /**
     * See {@link LayoutEventStore#keepPartitions}. Partitions that were created in another way have no default
     * partition with this name, and are not changed.
     */
    boolean keep(Connection connection, Duration retention) throws SQLException {
        if (!canBeOf(store)
                || store.table().simpleName().length() > MAX_NAME
                || partitions(connection).stream().noneMatch(this::isRest)) {
            return false;
        }
        createAhead(connection, DAYS_AHEAD);
        dropOld(connection, retention);
        return true;
    }

    private boolean isRest(String partition) {
        return partition.equalsIgnoreCase(store.table().simpleName() + "_rest");
    }

    int createAhead(Connection connection, int days) throws SQLException {
        LocalDate today = LocalDate.ofInstant(store.now(connection), ZoneOffset.UTC);
        List<LocalDate> there = days(connection);
        int made = 0;
        for (LocalDate day = today; !day.isAfter(today.plusDays(days)); day = day.plusDays(1)) {
            made += !there.contains(day) && create(connection, day) ? 1 : 0;
        }
        return made;
    }

    /**
     * Creates the partition of a day. Checks for rows of that day in the default partition first, in a separate
     * transaction, so that such a day does not lock the table on every call.
     */
    private boolean create(Connection connection, LocalDate day) throws SQLException {
        String start = "'%s 00:00:00+00'".formatted(day);
        String end = "'%s 00:00:00+00'".formatted(day.plusDays(1));
        String inRest = "SELECT EXISTS (SELECT 1 FROM %s WHERE created_at >= %s AND created_at < %s)"
                .formatted(store.sqlName(), start, end);
        String sql = "CREATE TABLE %s PARTITION OF %s FOR VALUES FROM (%s) TO (%s)"
                .formatted(partition(day), store.sqlName(), start, end);
        if (inShortTransaction(connection, List.of(), statement -> isTrue(statement, inRest))) {
            return false;
        }
        return inShortTransaction(connection, List.of(CHECK_VIOLATION, DUPLICATE_TABLE), statement -> {
            statement.execute(sql);
            return true;
        });
    }

    List<String> dropOld(Connection connection, Duration retention) throws SQLException {
        List<String> dropped = new ArrayList<>();
        Instant before = store.now(connection).minus(retention);
        LocalDate cutoff = LocalDate.ofInstant(before, ZoneOffset.UTC);
        for (LocalDate day : days(connection)) {
            if (day.isBefore(cutoff) && drop(connection, day, before)) {
                dropped.add(store.table().simpleName() + "_p" + DAY.format(day));
            }
        }
        return dropped;
    }

    /**
     * Drops the partition of a day. Checks first without an exclusive lock, and again under the lock, because an
     * operator may replay an event in between. The two checks run in separate transactions; otherwise two nodes
     * could hold their read locks and deadlock. The table is locked before its partition, which is the order that
     * all statements use.
     */
    private boolean drop(Connection connection, LocalDate day, Instant before) throws SQLException {
        String needed = """
                SELECT EXISTS (SELECT 1 FROM %1$s WHERE published_at IS NULL)
                    OR EXISTS (SELECT 1 FROM %1$s WHERE published_at >= '%2$s')
                """.formatted(partition(day), before);
        if (inShortTransaction(connection, List.of(UNDEFINED_TABLE), statement -> isTrue(statement, needed))) {
            return false;
        }
        return inShortTransaction(connection, List.of(UNDEFINED_TABLE), statement -> {
            statement.execute("LOCK TABLE ONLY " + store.sqlName() + " IN ACCESS EXCLUSIVE MODE");
            if (isTrue(statement, needed)) {
                return false;
            }
            statement.execute("DROP TABLE " + partition(day));
            return true;
        });
    }

    private static boolean isTrue(Statement statement, String question) throws SQLException {
        try (ResultSet row = statement.executeQuery(question)) {
            row.next();
            return row.getBoolean(1);
        }
    }

    /** A query or a DDL statement. Returns the result of the query, or whether the DDL changed something. */
    private interface Step {
        boolean on(Statement statement) throws SQLException;
    }

    /**
     * Runs a step with a short lock timeout, because other statements queue behind a session that waits for a lock.
     * Returns false on a timeout and for the expected errors.
     */
    private static boolean inShortTransaction(Connection connection, List<String> expected, Step step)
            throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET LOCAL lock_timeout = " + LOCK_MILLIS);
            boolean answer = step.on(statement);
            connection.commit();
            return answer;
        } catch (SQLException e) {
            connection.rollback();
            String state = SqlStates.of(e);
            if (state.equals(LOCK_NOT_AVAILABLE) || expected.contains(state)) {
                return false;
            }
            throw e;
        } finally {
            connection.setAutoCommit(autoCommit);
        }
    }

    private String partition(LocalDate day) {
        return store.sql().table(store.table().sibling(store.table().simpleName() + "_p" + DAY.format(day)));
    }

    /** Returns the days that have a partition, according to the partition names. */
    private List<LocalDate> days(Connection connection) throws SQLException {
        return partitions(connection).stream()
                .map(names::matcher)
                .filter(Matcher::matches)
                .map(name -> LocalDate.parse(name.group(1), DAY))
                .toList();
    }

    /** Binds: table. */
    private List<String> partitions(Connection connection) throws SQLException {
        String sql = """
                SELECT c.relname
                  FROM pg_inherits i
                  JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = to_regclass(?)
                 ORDER BY c.relname
                """;
        List<String> partitions = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            select.setString(1, store.sqlName());
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    partitions.add(rows.getString(1));
                }
            }
        }
        return partitions;
    }
}
