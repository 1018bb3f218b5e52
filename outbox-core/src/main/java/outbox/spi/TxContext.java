package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * The business transaction of the calling thread.
 *
 * <p>A callback belongs to its transaction: it is removed by a rollback to an earlier savepoint, and it waits while
 * its transaction is suspended. If it is unknown whether the commit took effect, only {@link #whenUnknown}
 * callbacks run.
 */
public interface TxContext {

    /** How much of the current transaction its callbacks can observe. */
    enum Visibility {
        /** The end of the transaction and each rollback to a savepoint. */
        COMPLETE,
        /**
         * The end of the transaction. A rollback to a savepoint may go unnoticed, so an event may no longer exist
         * when its callback runs.
         */
        END_ONLY,
        /** Nothing. A callback registered now would belong to another transaction, so none is accepted. */
        NONE
    }

    /** What callbacks that are registered now can observe. Called inside an active transaction. */
    default Visibility visibility() {
        return Visibility.COMPLETE;
    }

    /**
     * Whether this thread is inside a transaction in which an event can be written now. False once the commit
     * has begun.
     */
    boolean isTransactionActive();

    /** The connection that the business operations of this transaction use. */
    Connection currentConnection();

    /** Runs the callback after the transaction has committed, and only then. */
    void afterCommit(Runnable callback);

    /** Runs the callback after the transaction was rolled back, and only then. */
    void afterRollback(Runnable callback);

    /**
     * Runs the callback inside the transaction, just before the commit. An exception rolls the transaction back.
     *
     * @return false if this context has no such phase; then the callback will not run
     */
    default boolean beforeCommit(Runnable callback) {
        return false;
    }

    /**
     * Runs the callback if work done after this call is rolled back, to an earlier savepoint or entirely. Several
     * callbacks run in reverse order. Use it for changes that a transaction makes outside its database.
     *
     * @return false if this context cannot detect this; then the callback will not run
     */
    default boolean whenUndone(Runnable callback) {
        return false;
    }

    /**
     * Runs the callback if the transaction ends and it is unknown whether it committed. Use it to release resources
     * outside the database, which would otherwise wait for an end that is never reported.
     *
     * @return false if this context cannot detect this; then the callback will not run
     */
    default boolean whenUnknown(Runnable callback) {
        return false;
    }

    /**
     * Identifies the part of the transaction that the thread is in. The object differs between transactions, and
     * changes whenever a savepoint is set or rolled back to.
     *
     * @return null if this context cannot detect savepoints
     */
    default @Nullable Object scope() {
        return null;
    }

    /** Whether the transaction is read-only. */
    default boolean isReadOnly() {
        try {
            return currentConnection().isReadOnly();
        } catch (SQLException e) {
            throw new OutboxException("Cannot tell whether the current transaction is read-only", e);
        }
    }
}
