package outbox.jdbc;

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
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;

/**
 * The partitions of a module's outbox on PostgreSQL that {@link LayoutSchema#createPartitioned} made: one for each day of UTC, called by the table and its day, and a rest for all other
 * times. To be called now and then, by one node or several: {@link #createAhead} before a day begins, {@link #dropOld} instead of a purge, or beside one that deletes what a kept partition holds.
 *
 * <p>A partition is dropped as a whole: only when nothing in it is pending or dead, and everything was delivered before the retention. For a moment this locks the table against all, so it waits
 * for that lock no longer than 200 ms, and leaves the partition for the next time if others were busy. Thread-safe; keeps no connection.
 */
public final class ModulePartitions {

    private static final int LOCK_MILLIS = 200;
    private static final String LOCK_NOT_AVAILABLE = "55P03";
    private static final String CHECK_VIOLATION = "23514"; // of the rest, which has rows of that day
    private static final String DUPLICATE_TABLE = "42P07";
    private static final int MAX_DAYS = 366;
    private static final int MAX_NAME = 63 - "_p20260101".length();
    private static final DateTimeFormatter DAY = DateTimeFormatter.BASIC_ISO_DATE;

    private final DataSource dataSource;
    private final LayoutEventStore store;
    private final Pattern names;

    /**
     * The partitions of the store's table.
     *
     * @throws IllegalArgumentException if it is not a module's outbox on PostgreSQL
     */
    public ModulePartitions(DataSource dataSource, LayoutEventStore store) {
        this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
        this.store = store;
        if (!(store.dialect() instanceof PostgresEventStore)
                || !store.layout().name().equals(TableLayout.MODULE)) {
            throw new IllegalArgumentException("Only a table of layout '" + TableLayout.MODULE
                    + "' on PostgreSQL can have partitions, not " + store.table());
        }
        String simple = store.table().simpleName();
        if (simple.length() > MAX_NAME) {
            throw new IllegalArgumentException(
                    "The name of a table with partitions has at most " + MAX_NAME + " characters: " + simple);
        }
        this.names = Pattern.compile(Pattern.quote(simple) + "_p([0-9]{8})");
    }

    /**
     * Makes the partitions of today and of the given number of days after it, if they are not there. A day of which the rest has rows already keeps to the rest.
     *
     * @param days 0 to 366
     * @return how many were made
     */
    public int createAhead(int days) {
        if (days < 0 || days > MAX_DAYS) {
            throw new IllegalArgumentException("days must be between 0 and " + MAX_DAYS + ": " + days);
        }
        return store.run("make partitions", () -> {
            try (Connection connection = dataSource.getConnection()) {
                LocalDate today = today(connection);
                List<LocalDate> there = days(connection);
                int made = 0;
                for (LocalDate day = today; !day.isAfter(today.plusDays(days)); day = day.plusDays(1)) {
                    made += !there.contains(day) && create(connection, day) ? 1 : 0;
                }
                return made;
            }
        });
    }

    private boolean create(Connection connection, LocalDate day) throws SQLException {
        String sql = "CREATE TABLE %s PARTITION OF %s FOR VALUES FROM ('%s 00:00:00+00') TO ('%s 00:00:00+00')"
                .formatted(partition(day), store.sqlName(), day, day.plusDays(1));
        return inShortTransaction(connection, List.of(CHECK_VIOLATION, DUPLICATE_TABLE), statement -> {
            statement.execute(sql);
            return true;
        });
    }

    /**
     * Drops the partitions of days whose events were all delivered longer ago than the retention.
     *
     * @return the names of those that were dropped
     */
    public List<String> dropOld(Duration retention) {
        if (retention.isNegative()) {
            throw new IllegalArgumentException("retention must not be negative: " + retention);
        }
        return store.run("drop old partitions", () -> {
            List<String> dropped = new ArrayList<>();
            try (Connection connection = dataSource.getConnection()) {
                Instant before = store.now(connection).minus(retention);
                LocalDate cutoff = LocalDate.ofInstant(before, ZoneOffset.UTC);
                for (LocalDate day : days(connection)) {
                    if (day.isBefore(cutoff) && drop(connection, day, before)) {
                        dropped.add(store.table().simpleName() + "_p" + DAY.format(day));
                    }
                }
            }
            return dropped;
        });
    }

    /** Looks first, without a lock that others feel, and again under the lock: an operator may replay an event meanwhile. The table is locked before its partition, as by everyone else. */
    private boolean drop(Connection connection, LocalDate day, Instant before) throws SQLException {
        String needed =
                "SELECT EXISTS (SELECT 1 FROM %1$s WHERE published_at IS NULL) OR EXISTS (SELECT 1 FROM %1$s WHERE published_at >= '%2$s')"
                        .formatted(partition(day), before);
        return inShortTransaction(connection, List.of(), statement -> {
            if (isTrue(statement, needed)) {
                return false;
            }
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

    /** Some DDL; answers whether it did something. */
    private interface Ddl {
        boolean on(Statement statement) throws SQLException;
    }

    /** Who waits for a lock keeps everybody behind it waiting too, so it soon gives up. The answer is false then, and for the errors that are expected. */
    private static boolean inShortTransaction(Connection connection, List<String> expected, Ddl ddl)
            throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET LOCAL lock_timeout = " + LOCK_MILLIS);
            boolean did = ddl.on(statement);
            connection.commit();
            return did;
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

    private LocalDate today(Connection connection) {
        return LocalDate.ofInstant(store.now(connection), ZoneOffset.UTC);
    }

    private String partition(LocalDate day) {
        return store.sql().table(store.table().sibling(store.table().simpleName() + "_p" + DAY.format(day)));
    }

    /** The days that have a partition, told by their names. Binds: table. */
    private List<LocalDate> days(Connection connection) throws SQLException {
        String sql = """
                SELECT c.relname
                  FROM pg_inherits i
                  JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = to_regclass(?)
                 ORDER BY c.relname
                """;
        List<LocalDate> days = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            select.setString(1, store.sqlName());
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    Matcher name = names.matcher(rows.getString(1));
                    if (name.matches()) {
                        days.add(LocalDate.parse(name.group(1), DAY));
                    }
                }
            }
        }
        return days;
    }
}
