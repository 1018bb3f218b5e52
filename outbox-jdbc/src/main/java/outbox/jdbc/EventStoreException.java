package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.jdbc.internal.sql.SqlStates;

import java.sql.SQLException;

/**
 * The database refused an operation of the store, or the operation failed. The caller must roll back
 * its transaction.
 */
public class EventStoreException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public EventStoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** Returns the SQLState that the database reported, or an empty string if there is none. */
    public String sqlState() {
        return getCause() instanceof SQLException sql ? SqlStates.of(sql) : "";
    }
}
