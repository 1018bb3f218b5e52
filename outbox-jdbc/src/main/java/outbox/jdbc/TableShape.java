package outbox.jdbc;

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
 * The columns that an outbox table really has. The 15 of the specification are required; what goes beyond is used where it is there. Times are bound and read according to the
 * type of their column, always as UTC, so neither the JVM's nor the session's time zone matters.
 */
final class TableShape {

    static final List<String> REQUIRED = List.of(
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
     * What stands for "never" in a time, and SQL for it. Claims find a row whose time of creation or lock is later,
     * so that it becomes dead.
     */
    static final Instant NEVER = Instant.parse("9999-12-31T00:00:00Z");

    static final String NEVER_SQL = "TIMESTAMP '9999-12-31 00:00:00'";

    private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");
    static final String LEASE_FAULT =
            "The time of its lock is out of range: it must be from " + FIRST + " on and before " + NEVER;

    private static final Instant MIN = LocalDateTime.MIN.toInstant(ZoneOffset.UTC);
    private static final Instant MAX = LocalDateTime.MAX.toInstant(ZoneOffset.UTC);

    /** Of a table that is not there. */
    static final TableShape NONE = new TableShape(Map.of(), Map.of(), null, false);

    private final Map<String, String> typeNames; // column → type name of the database, both in lower case
    private final Map<String, Boolean> zoned;
    private final @Nullable TableName controlTable;
    private final boolean tellsWriters;
    private final Map<Object, String> texts =
            new ConcurrentHashMap<>(); // few: a key says which statement, and for how many rows

    private TableShape(
            Map<String, String> typeNames,
            Map<String, Boolean> zoned,
            @Nullable TableName controlTable,
            boolean tellsWriters) {
        this.typeNames = typeNames;
        this.zoned = zoned;
        this.controlTable = controlTable;
        this.tellsWriters = tellsWriters;
    }

    /** Reads the shape with a query that answers no row: it finds the table by the same rules as every later statement. */
    static TableShape read(Connection connection, TableName table) throws SQLException {
        TableShape shape = readAny(connection, table);
        List<String> missing = shape.missing(REQUIRED);
        if (!missing.isEmpty()) {
            throw new EventStoreException(
                    "Table " + table + " is not an outbox table: it has no column " + String.join(", ", missing)
                            + ". Create it with the DDL under META-INF/outbox/schema in outbox-jdbc.",
                    null);
        }
        return shape;
    }

    /** The shape of any table, whatever columns it has. */
    static TableShape readAny(Connection connection, TableName table) throws SQLException {
        return readAny(connection, table.value());
    }

    /** The shape of whatever a FROM may name. */
    static TableShape readAny(Connection connection, String table) throws SQLException {
        Map<String, String> typeNames = new HashMap<>();
        Map<String, Boolean> zoned = new HashMap<>();
        try (Statement select = connection.createStatement(); // a prepared one would remember the columns of before
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
        return new TableShape(typeNames, zoned, null, false);
    }

    /** The same, where events that use delivery control have a table of their own. */
    TableShape withControlTable(TableName table) {
        return new TableShape(typeNames, zoned, table, tellsWriters);
    }

    /** The same, where an INSERT can return which transaction wrote each row. */
    TableShape withWriters() {
        return new TableShape(typeNames, zoned, controlTable, true);
    }

    boolean tellsWriters() {
        return tellsWriters;
    }

    /** The table that has the events which use delivery control, and whose rows are those of the outbox table too; null where they share it. */
    @Nullable
    TableName controlTable() {
        return controlTable;
    }

    /** Those of the columns that the table does not have. */
    List<String> missing(List<String> columns) {
        return columns.stream().filter(column -> !has(column)).toList();
    }

    boolean has(String column) {
        return typeNames.containsKey(column);
    }

    String typeOf(String column) {
        return Objects.requireNonNull(typeNames.get(column), column);
    }

    boolean isZoned(String column) {
        return Objects.requireNonNull(zoned.get(column), column);
    }

    /** The text of a statement for a table of this shape, made once for each key. */
    String text(Object key, Supplier<String> make) {
        String known = texts.get(key);
        return known != null ? known : texts.computeIfAbsent(key, any -> make.get());
    }

    void bind(PreparedStatement statement, int index, String column, @Nullable Instant value) throws SQLException {
        if (value == null) {
            statement.setNull(index, isZoned(column) ? Types.TIMESTAMP_WITH_TIMEZONE : Types.TIMESTAMP);
            return;
        }
        if (value.equals(MIN) || value.equals(MAX)) { // how the driver of PostgreSQL spells an infinity
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
            statement.setObject(index, micros.toString(), Types.OTHER); // the driver of PostgreSQL takes long for times
        } else {
            statement.setObject(index, isZoned(column) ? utc : utc.toLocalDateTime());
        }
    }

    @Nullable
    Instant read(ResultSet row, String column) throws SQLException {
        return read(row, column, column);
    }

    /** Reads a result that has another name than the column its value comes from. */
    @Nullable
    Instant read(ResultSet row, String column, String name) throws SQLException {
        if (isZoned(column)) {
            OffsetDateTime value = row.getObject(name, OffsetDateTime.class);
            return value == null ? null : within(value.toInstant());
        }
        LocalDateTime value = row.getObject(name, LocalDateTime.class);
        return value == null ? null : value.toInstant(ZoneOffset.UTC);
    }

    /** An infinity with the offset of its driver is beyond the times that can be converted back. */
    private static Instant within(Instant time) {
        return time.isBefore(MIN) ? MIN : time.isAfter(MAX) ? MAX : time;
    }

    /** What is wrong with the time at which a lease began; null if nothing is. */
    static @Nullable String leaseFault(@Nullable Instant lockedAt) {
        return lockedAt == null || !lockedAt.isBefore(FIRST) && lockedAt.isBefore(NEVER) ? null : LEASE_FAULT;
    }

    /** SQL for the same, where times are not read: whether there is something wrong. */
    static String isLeaseFault(String lockedAt) {
        return "COALESCE(" + lockedAt + " < TIMESTAMP '0001-01-01 00:00:00' OR " + lockedAt + " >= " + NEVER_SQL
                + ", FALSE)";
    }
}
