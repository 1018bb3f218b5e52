package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * The business transaction of the calling thread.
 *
 * <p>A callback follows the fate of its own transaction: it is dropped with a savepoint that is rolled back, waits while its transaction is suspended, and when nobody knows
 * whether the commit took effect, neither kind of callback runs, but {@link #whenUnknown} tells so.
 */
public interface TxContext {

    /** How much of the fate of the current transaction its callbacks follow. */
    enum Visibility {
        /** Its end, and each rollback to a savepoint. */
        COMPLETE,
        /** Its end. A rollback to a savepoint may not be seen, so an event may be gone although its callback runs. */
        END_ONLY,
        /** Nothing: a callback that is registered now would follow another transaction, so none is accepted. */
        NONE
    }

    /** What callbacks that are registered now can be trusted with. Asked inside an active transaction. */
    default Visibility visibility() {
        return Visibility.COMPLETE;
    }

    /** Whether this thread is inside a transaction into which an event can be written now; no longer true once the commit has begun. */
    boolean isTransactionActive();

    /** The very connection that the business operations of this transaction use. */
    Connection currentConnection();

    /** Runs the callback after, and only if, the transaction committed. */
    void afterCommit(Runnable callback);

    /** Runs the callback after, and only if, the transaction rolled back. */
    void afterRollback(Runnable callback);

    /**
     * Runs the callback just before the transaction commits, inside it; what it throws rolls the transaction back.
     *
     * @return false if this context has no such moment, and the callback will not run
     */
    default boolean beforeCommit(Runnable callback) {
        return false;
    }

    /**
     * Runs the callback when what the transaction has done since now is undone: by a rollback to a savepoint that was set before, or by that of the whole transaction. Several run in reverse
     * order. For what a transaction changes outside of its database.
     *
     * @return false if this context cannot tell, and the callback will not run
     */
    default boolean whenUndone(Runnable callback) {
        return false;
    }

    /**
     * Runs the callback if the transaction ends and nobody knows whether it committed. For what it holds outside of its database, which would wait for an end that is never told.
     *
     * @return false if this context cannot tell, and the callback will not run
     */
    default boolean whenUnknown(Runnable callback) {
        return false;
    }

    /**
     * Names the part of the transaction that the thread is in: another object in every transaction, and after each savepoint that is set or rolled back.
     *
     * @return null if this context cannot tell
     */
    default @Nullable Object scope() {
        return null;
    }

    /** Whether the transaction may not write. */
    default boolean isReadOnly() {
        try {
            return currentConnection().isReadOnly();
        } catch (SQLException e) {
            throw new OutboxException("Cannot tell whether the current transaction is read-only", e);
        }
    }
}
