package outbox.jdbc.internal.sql;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * The actual columns of an outbox table. The 15 columns of the specification are required; additional ones are used
 * if they exist. Times are bound and read according to the type of their column, always in UTC, so that the time
 * zones of the JVM and the session do not matter.
 */
public final class TableColumns {

    public static final List<String> REQUIRED = List.of(
            "event_id",
            "event_type",
            "aggregate_type",
            "aggregate_id",
            "tenant_id",
            "payload",
            "headers",
            "status",
            "attempts",
            "available_at",
            "created_at",
            "done_at",
            "last_error",
            "locked_by",
            "locked_at");

    /**
     * The time that represents "never", and its SQL. Claims find a row whose creation or lock time is later, so that
     * the event becomes dead.
     */
    public static final Instant NEVER = Instant.parse("9999-12-31T00:00:00Z");

    public static final String NEVER_SQL = "TIMESTAMP '9999-12-31 00:00:00'";

    private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");
    public static final String LEASE_FAULT =
            "The time of its lock is out of range: it must be from " + FIRST + " on and before " + NEVER;

    private static final Instant MIN = LocalDateTime.MIN.toInstant(ZoneOffset.UTC);
    private static final Instant MAX = LocalDateTime.MAX.toInstant(ZoneOffset.UTC);

    /** The columns of a table that does not exist. */
    public static final TableColumns NONE = new TableColumns(Map.of(), Map.of(), false);

    private final Map<String, String> typeNames; // type name of the database by column, both in lower case
    private final Map<String, Boolean> zoned;
    private final boolean tellsWriters;
    // few entries: a key consists of the statement and the number of rows
    private final Map<Object, String> texts = new ConcurrentHashMap<>();

    private TableColumns(Map<String, String> typeNames, Map<String, Boolean> zoned, boolean tellsWriters) {
        this.typeNames = typeNames;
        this.zoned = zoned;
        this.tellsWriters = tellsWriters;
    }

    /**
     * Reads the columns of anything that a FROM clause can contain, with a query that returns no rows, so that the
     * table is found by the same rules as in every later statement.
     */
    public static TableColumns readAny(Connection connection, String table) throws SQLException {
        Map<String, String> typeNames = new HashMap<>();
        Map<String, Boolean> zoned = new HashMap<>();
        try (Statement select = connection.createStatement(); // a prepared statement would return the old columns
                ResultSet none = select.executeQuery("SELECT * FROM " + table + " WHERE 1 = 0")) {
            ResultSetMetaData columns = none.getMetaData();
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                String name = columns.getColumnLabel(i).toLowerCase(Locale.ROOT);
                String type = columns.getColumnTypeName(i).toLowerCase(Locale.ROOT);
                typeNames.put(name, type);
                zoned.put(
                        name, columns.getColumnType(i) == Types.TIMESTAMP_WITH_TIMEZONE || type.equals("timestamptz"));
            }
        }
        return new TableColumns(typeNames, zoned, false);
    }

    /** Returns a copy for a table where an INSERT can return which transaction wrote each row. */
    public TableColumns withWriters() {
        return new TableColumns(typeNames, zoned, true);
    }

    public boolean tellsWriters() {
        return tellsWriters;
    }

    /** Returns those of the columns that the table does not have. */
    public List<String> missing(List<String> columns) {
        return columns.stream().filter(column -> !has(column)).toList();
    }

    public boolean has(String column) {
        return typeNames.containsKey(column);
    }

    public String typeOf(String column) {
        return Objects.requireNonNull(typeNames.get(column), column);
    }

    public boolean isZoned(String column) {
        return Objects.requireNonNull(zoned.get(column), column);
    }

    /** Returns the text of a statement for a table with these columns. It is built once for each key. */
    public String text(Object key, Supplier<String> make) {
        String known = texts.get(key);
        return known != null ? known : texts.computeIfAbsent(key, any -> make.get());
    }

    public void bind(PreparedStatement statement, int index, String column, @Nullable Instant value)
            throws SQLException {
        if (value == null) {
            statement.setNull(index, isZoned(column) ? Types.TIMESTAMP_WITH_TIMEZONE : Types.TIMESTAMP);
            return;
        }
        if (value.equals(MIN) || value.equals(MAX)) { // the PostgreSQL driver uses these values for infinity
            boolean first = value.equals(MIN);
            statement.setObject(
                    index,
                    isZoned(column)
                            ? first ? OffsetDateTime.MIN : OffsetDateTime.MAX
                            : first ? LocalDateTime.MIN : LocalDateTime.MAX);
            return;
        }
        Instant micros = value.truncatedTo(ChronoUnit.MICROS);
        OffsetDateTime utc = micros.atOffset(ZoneOffset.UTC);
        if (typeOf(column).equals("timestamptz") && utc.getYear() > 0 && utc.getYear() <= 9999) {
            // the PostgreSQL driver is slow with time objects
            statement.setObject(index, micros.toString(), Types.OTHER);
        } else {
            statement.setObject(index, isZoned(column) ? utc : utc.toLocalDateTime());
        }
    }

    @Nullable
    public Instant read(ResultSet row, String column) throws SQLException {
        return read(row, column, column);
    }

    /** Reads a value whose name in the result differs from the column that it comes from. */
    @Nullable
    public Instant read(ResultSet row, String column, String name) throws SQLException {
        if (isZoned(column)) {
            OffsetDateTime value = row.getObject(name, OffsetDateTime.class);
            return value == null ? null : within(value.toInstant());
        }
        LocalDateTime value = row.getObject(name, LocalDateTime.class);
        return value == null ? null : value.toInstant(ZoneOffset.UTC);
    }

    /**
     * Limits a time to the range that can be converted back. An infinity with a time zone offset of the driver
     * is outside.
     */
    private static Instant within(Instant time) {
        return time.isBefore(MIN) ? MIN : time.isAfter(MAX) ? MAX : time;
    }

    /** Returns what is wrong with the start time of a lease, or null if it is valid. */
    public static @Nullable String leaseFault(@Nullable Instant lockedAt) {
        return lockedAt == null || !lockedAt.isBefore(FIRST) && lockedAt.isBefore(NEVER) ? null : LEASE_FAULT;
    }

    /** Returns SQL for the same check, for statements that do not read the times. */
    public static String isLeaseFault(String lockedAt) {
        return "COALESCE(" + lockedAt + " < TIMESTAMP '0001-01-01 00:00:00' OR " + lockedAt + " >= " + NEVER_SQL
                + ", FALSE)";
    }
}
