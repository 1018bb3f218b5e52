package outbox.jdbc.internal.row;

import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.OutboxEvent;

import java.sql.ResultSet;
import java.sql.SQLException;

/** Reads events from the rows of a table. */
public interface EventReader {

    /** Returns the columns of an event for a SELECT. {@code reading} determines how much of each value is read. */
    String columns(TableColumns shape, Reading reading);

    /** Returns SQL for the two sizes of an event in bytes. */
    String sizes(TableColumns shape);

    /** Returns how many bytes {@link Reading#WHOLE} reads of the event in a row with {@link #sizes}. */
    long readBytes(ResultSet row, TableColumns shape) throws SQLException;

    /** Reads an event from a row of {@link Reading#WHOLE}. */
    OutboxEvent whole(ResultSet row, TableColumns shape) throws SQLException;

    /** Returns the number of the event in the table, or 0 if it has none. */
    long sequence(ResultSet row) throws SQLException;
}
