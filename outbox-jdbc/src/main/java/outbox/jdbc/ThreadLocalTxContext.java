package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.TransactionStateException;
import outbox.dispatch.EventInterceptor;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.tx.TxScope;
import outbox.spi.TxCallbacks;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;

/**
 * The transaction that {@link JdbcTransactionManager} began on this thread. A second transaction suspends the first
 * one: writes and callbacks belong to the inner transaction until it ends.
 */
public final class ThreadLocalTxContext extends TxCallbacks.Context {

    private static final Logger LOG = SafeLogger.of(ThreadLocalTxContext.class);

    @SuppressWarnings("ThreadLocalUsage") // not static, because each context has its own transactions
    private final ThreadLocal<@Nullable TxScope> innermost = new ThreadLocal<>();

    @Override
    public boolean isTransactionActive() {
        return innermost.get() != null;
    }

    @Override
    public Connection currentConnection() {
        return current().connection();
    }

    @Override
    protected TxCallbacks callbacks() {
        return current().callbacks();
    }

    @Override
    public boolean whenUnknown(Runnable callback) {
        callbacks().whenUnknown(callback);
        return true;
    }

    @Override
    public boolean isReadOnly() {
        return current().isReadOnly();
    }

    /**
     * Returns an interceptor for dispatchers whose listeners use transactions of this context. A transaction that a
     * listener left open is rolled back and logged as an error, so that the next event on the same thread does not
     * run inside it. Not for asynchronous listeners, which end on another thread.
     */
    public EventInterceptor leakGuard() {
        return EventInterceptor.after((event, error) -> abandonLeft("The listener of event " + event.eventId()));
    }

    /** Rolls back the transactions that are still open on this thread, and logs who left them open. */
    void abandonLeft(String whose) {
        while (isTransactionActive()) {
            LOG.log(Level.ERROR, whose + " left a transaction open; it is rolled back");
            TxScope leaked = current();
            leave();
            JdbcTransactionManager.abandon(leaked.physical());
            leaked.callbacks().rolledBack();
        }
    }

    private TxScope current() {
        TxScope scope = innermost.get();
        if (scope == null) {
            throw new TransactionStateException(
                    "No transaction is active on this thread. Begin one with JdbcTransactionManager.begin().");
        }
        return scope;
    }

    /** Returns the transaction that a new one would suspend, or null if there is none. */
    @Nullable
    TxScope innermost() {
        return innermost.get();
    }

    void enter(TxScope scope) {
        innermost.set(scope);
    }

    /** Refuses any transaction except the innermost one of this thread. */
    void requireCurrent(TxScope scope) {
        TxScope current = innermost.get();
        if (current == scope) {
            return;
        }
        while (current != null && current != scope) {
            current = current.suspended();
        }
        throw new TransactionStateException(
                current == scope
                        ? "A transaction that was begun inside this one is still active; end it first"
                        : "This transaction was begun on another thread; end it there");
    }

    void leave() {
        innermost.set(current().suspended());
    }
}
