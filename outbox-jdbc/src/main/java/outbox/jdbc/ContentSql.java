package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;

/**
 * SQL that keeps large values in the table: a claim reads what is small, and what is larger than an event may be is not
 * read at all, however large it is. The size of a value is known without reading it, except for JSON.
 */
final class ContentSql {

    /** How much of an event a statement reads. */
    enum Reading {
        /** Values of up to 16 KiB; {@link #INCOMPLETE} tells whether there are larger ones. */
        SMALL,
        /** What an event may have; {@link #PAYLOAD_SIZE} and {@link #OTHER_SIZE} tell how much there is. */
        WHOLE
    }

    static final String INCOMPLETE = "outbox_incomplete";
    static final String PAYLOAD_SIZE = "outbox_payload_size";
    static final String OTHER_SIZE = "outbox_other_size";

    private static final long SMALL_BYTES = 16_384;
    private static final long OTHER_BYTES = 524_288; // headers have 64 KiB at most; in JSON, a byte may take six

    /** Words in the names of types without a bound that matters; the names differ between drivers. */
    private static final List<String> UNBOUNDED = List.of("text", "lob", "large object", "json", "bytea", "long");

    /**
     * A column as a statement names it.
     *
     * @param plain its name in the shape of the table
     * @param sql how the statement names it, with an alias of the table or in quotes
     * @param alias how the result names it
     * @param payload whether it has a payload
     */
    record Column(String plain, String sql, String alias, boolean payload) {}

    private final AbstractJdbcEventStore dialect;
    private final String payload;

    /** @param payload the column that has a payload in every row */
    ContentSql(AbstractJdbcEventStore dialect, String payload) {
        this.dialect = dialect;
        this.payload = payload;
    }

    /** The columns for a SELECT, and what {@link Reading} says, separated by commas. */
    String columns(TableShape shape, List<Column> columns, Reading reading) {
        StringBuilder select = new StringBuilder();
        for (Column column : columns) {
            select.append(isUnbounded(shape, column) ? guarded(shape, column, reading) : column.sql())
                    .append(", ");
        }
        return select + (reading == Reading.SMALL ? incomplete(shape, columns) : sizes(shape, columns));
    }

    /** The two sizes of an event in bytes. */
    String sizes(TableShape shape, List<Column> columns) {
        return sum(shape, columns, true) + " AS " + PAYLOAD_SIZE + ", " + sum(shape, columns, false) + " AS "
                + OTHER_SIZE;
    }

    private String guarded(TableShape shape, Column column, Reading reading) {
        long most = reading == Reading.SMALL ? SMALL_BYTES : column.payload() ? payloadBytes(shape) : OTHER_BYTES;
        return "CASE WHEN " + size(shape, column) + " <= " + most + " THEN " + column.sql() + " END AS "
                + column.alias();
    }

    /** A payload that was not read is null, which no payload is; so its size is not asked for twice. */
    private String incomplete(TableShape shape, List<Column> columns) {
        List<Column> others = columns.stream()
                .filter(column -> isUnbounded(shape, column) && !column.plain().equals(payload))
                .toList();
        if (others.isEmpty()) {
            return "FALSE AS " + INCOMPLETE;
        }
        return "("
                + String.join(
                        " OR ",
                        others.stream()
                                .map(column -> "COALESCE(" + size(shape, column) + ", 0) > " + SMALL_BYTES)
                                .toList())
                + ") AS " + INCOMPLETE;
    }

    private String sum(TableShape shape, List<Column> columns, boolean payload) {
        List<String> sizes = columns.stream()
                .filter(column -> column.payload() == payload && isUnbounded(shape, column))
                .map(column -> "COALESCE(" + size(shape, column) + ", 0)")
                .toList();
        return sizes.isEmpty() ? "0" : String.join(" + ", sizes);
    }

    private String size(TableShape shape, Column column) {
        return dialect.byteSize(column.sql(), shape.typeOf(column.plain()));
    }

    private static boolean isUnbounded(TableShape shape, Column column) {
        String type = shape.typeOf(column.plain());
        return UNBOUNDED.stream().anyMatch(type::contains);
    }

    /** A database writes JSON with more white space than the application did. */
    private long payloadBytes(TableShape shape) {
        return (shape.typeOf(payload).contains("json") ? 2L : 1L) * EventEnvelope.MAX_PAYLOAD_BYTES;
    }

    /** How many bytes {@link Reading#WHOLE} reads of the event of a row with both sizes: none if it is too large. */
    long readBytes(ResultSet row, TableShape shape) throws SQLException {
        return fault(row, shape) == null ? row.getLong(PAYLOAD_SIZE) + row.getLong(OTHER_SIZE) : 0;
    }

    /** Why the event of a row with both sizes cannot be delivered; null if it can. */
    @Nullable
    String fault(ResultSet row, TableShape shape) throws SQLException {
        long bytes = row.getLong(PAYLOAD_SIZE);
        if (bytes > payloadBytes(shape)) {
            return "The payload has " + bytes + " bytes; at most " + payloadBytes(shape)
                    + " are delivered. Store large content elsewhere and send a reference.";
        }
        long others = row.getLong(OTHER_SIZE);
        return others > OTHER_BYTES
                ? "The headers and names have " + others + " bytes together; at most " + OTHER_BYTES + " are delivered."
                : null;
    }
}
