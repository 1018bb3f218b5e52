package outbox.jdbc;

import outbox.TransactionStateException;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The transaction that {@link JdbcTransactionManager} began on this thread. One begun while another is active suspends it: writes and callbacks belong to the inner one until it
 * ends.
 */
public final class ThreadLocalTxContext implements TxContext {

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
        current().callbacks().beforeCommit(callback);
        return true;
    }

    @Override
    public boolean isReadOnly() {
        return current().isReadOnly();
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
