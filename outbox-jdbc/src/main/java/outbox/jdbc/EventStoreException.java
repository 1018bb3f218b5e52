package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

import java.sql.SQLException;

/** The database refused or failed an operation of the store. The caller's transaction is the caller's to roll back. */
public class EventStoreException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public EventStoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** The SQLState that the database gave; empty if there is none. */
    public String sqlState() {
        return getCause() instanceof SQLException sql ? SqlStates.of(sql) : "";
    }
}
