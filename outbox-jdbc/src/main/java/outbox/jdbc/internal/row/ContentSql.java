package outbox.jdbc.internal.row;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.jdbc.internal.sql.TableColumns;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.function.BinaryOperator;

/**
 * SQL that limits how much of a large value is read. A claim reads only small values. A value that exceeds the
 * maximum size of an event is never read. The database returns the size of a value without reading it, except
 * for JSON.
 */
public final class ContentSql {

    /** How much of an event a statement reads. */
    public enum Reading {
        /** Values of up to 16 KiB; {@link #INCOMPLETE} says whether larger ones exist. */
        SMALL,
        /**
         * Values up to the maximum size of an event; {@link #PAYLOAD_SIZE} and {@link #OTHER_SIZE} return the
         * real sizes.
         */
        WHOLE
    }

    public static final String INCOMPLETE = "outbox_incomplete";
    static final String PAYLOAD_SIZE = "outbox_payload_size";
    static final String OTHER_SIZE = "outbox_other_size";

    private static final long SMALL_BYTES = 16_384;
    private static final long OTHER_BYTES = 524_288; // headers have at most 64 KiB; JSON may need six bytes per byte

    /** Parts of the names of types that can hold large values. The names differ between drivers. */
    private static final List<String> UNBOUNDED = List.of("text", "lob", "large object", "json", "bytea", "long");

    /**
     * A column as a statement names it.
     *
     * @param plain its name in the columns of the table
     * @param sql its name in the statement, with an alias of the table or in quotes
     * @param alias its name in the result
     * @param payload whether it contains a payload
     */
    public record Column(String plain, String sql, String alias, boolean payload) {}

    private final BinaryOperator<String> byteSize;
    private final String payload;

    /**
     * @param byteSize returns SQL for the number of bytes of a column, given its name and its type
     * @param payload the column that contains a payload in every row
     */
    public ContentSql(BinaryOperator<String> byteSize, String payload) {
        this.byteSize = byteSize;
        this.payload = payload;
    }

    /**
     * Returns the columns for a SELECT, separated by commas, with the additional columns that
     * {@link Reading} describes.
     */
    public String columns(TableColumns shape, List<Column> columns, Reading reading) {
        StringBuilder select = new StringBuilder();
        for (Column column : columns) {
            select.append(isUnbounded(shape, column) ? guarded(shape, column, reading) : column.sql())
                    .append(", ");
        }
        return select + (reading == Reading.SMALL ? incomplete(shape, columns) : sizes(shape, columns));
    }

    /** Returns SQL for the two sizes of an event in bytes. */
    public String sizes(TableColumns shape, List<Column> columns) {
        return sum(shape, columns, true) + " AS " + PAYLOAD_SIZE + ", " + sum(shape, columns, false) + " AS "
                + OTHER_SIZE;
    }

    private String guarded(TableColumns shape, Column column, Reading reading) {
        long most = reading == Reading.SMALL ? SMALL_BYTES : column.payload() ? payloadBytes(shape) : OTHER_BYTES;
        return "CASE WHEN " + size(shape, column) + " <= " + most + " THEN " + column.sql() + " END AS "
                + column.alias();
    }

    /**
     * Returns SQL that says whether values were left out. A payload that was not read is null, and a stored payload
     * is never null, so the statement does not compute the size of a payload twice.
     */
    private String incomplete(TableColumns shape, List<Column> columns) {
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

    private String sum(TableColumns shape, List<Column> columns, boolean payload) {
        List<String> sizes = columns.stream()
                .filter(column -> column.payload() == payload && isUnbounded(shape, column))
                .map(column -> "COALESCE(" + size(shape, column) + ", 0)")
                .toList();
        return sizes.isEmpty() ? "0" : String.join(" + ", sizes);
    }

    private String size(TableColumns shape, Column column) {
        return byteSize.apply(column.sql(), shape.typeOf(column.plain()));
    }

    private static boolean isUnbounded(TableColumns shape, Column column) {
        String type = shape.typeOf(column.plain());
        return UNBOUNDED.stream().anyMatch(type::contains);
    }

    /** Returns the maximum size of a payload in this table. A database may add white space to JSON. */
    private long payloadBytes(TableColumns shape) {
        return (shape.typeOf(payload).contains("json") ? 2L : 1L) * EventEnvelope.MAX_PAYLOAD_BYTES;
    }

    /**
     * Returns how many bytes {@link Reading#WHOLE} reads of the event in a row with both sizes; 0 if the event is
     * too large.
     */
    public long readBytes(ResultSet row, TableColumns shape) throws SQLException {
        return fault(row, shape) == null ? row.getLong(PAYLOAD_SIZE) + row.getLong(OTHER_SIZE) : 0;
    }

    /** Returns why the event in a row with both sizes cannot be delivered, or null if it can. */
    @Nullable
    public String fault(ResultSet row, TableColumns shape) throws SQLException {
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
