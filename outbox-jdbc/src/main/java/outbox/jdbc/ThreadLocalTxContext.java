package outbox.jdbc;

import outbox.TransactionStateException;
import outbox.dispatch.EventInterceptor;
import outbox.spi.TxContext;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The transaction that {@link JdbcTransactionManager} began on this thread. One begun while another is active suspends it: writes and callbacks belong to the inner one until it
 * ends.
 */
public final class ThreadLocalTxContext implements TxContext {

    private static final Logger LOG = System.getLogger(ThreadLocalTxContext.class.getName());

    private final ThreadLocal<Deque<TxScope>> scopes = ThreadLocal.withInitial(ArrayDeque::new);

    @Override
    public boolean isTransactionActive() {
        return !scopes.get().isEmpty();
    }

    @Override
    public Connection currentConnection() {
        return current().connection();
    }

    @Override
    public void afterCommit(Runnable callback) {
        current().callbacks().afterCommit(callback);
    }

    @Override
    public void afterRollback(Runnable callback) {
        current().callbacks().afterRollback(callback);
    }

    @Override
    public boolean beforeCommit(Runnable callback) {
        return current().callbacks().beforeCommit(callback);
    }

    @Override
    public boolean whenUndone(Runnable callback) {
        current().callbacks().whenUndone(callback);
        return true;
    }

    @Override
    public boolean whenUnknown(Runnable callback) {
        current().callbacks().whenUnknown(callback);
        return true;
    }

    @Override
    public Object scope() {
        return current().callbacks().scope();
    }

    @Override
    public boolean isReadOnly() {
        return current().isReadOnly();
    }

    /**
     * An interceptor for dispatchers whose listeners use transactions of this context: one that a listener began and left open is rolled back, with an error in the log, so that the
     * next event on the same thread does not run inside it. Not for asynchronous listeners, which end on another thread.
     */
    public EventInterceptor leakGuard() {
        return EventInterceptor.after((event, error) -> abandonLeft("The listener of event " + event.eventId()));
    }

    /** Rolls back what is still open on this thread, and tells whose it is. */
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
        TxScope scope = scopes.get().peek();
        if (scope == null) {
            throw new TransactionStateException(
                    "No transaction is active on this thread. Begin one with JdbcTransactionManager.begin().");
        }
        return scope;
    }

    void enter(TxScope scope) {
        scopes.get().push(scope);
    }

    /** Refuses any transaction but the innermost of this thread. */
    void requireCurrent(TxScope scope) {
        Deque<TxScope> stack = scopes.get();
        if (stack.peek() != scope) {
            throw new TransactionStateException(
                    stack.contains(scope)
                            ? "A transaction that was begun inside this one is still active; end it first"
                            : "This transaction was begun on another thread; end it there");
        }
    }

    void leave() {
        Deque<TxScope> stack = scopes.get();
        stack.pop();
        if (stack.isEmpty()) {
            scopes.remove();
        }
    }
}
