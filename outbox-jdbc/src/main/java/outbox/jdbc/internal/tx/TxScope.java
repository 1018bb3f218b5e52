package outbox.jdbc.internal.tx;

import org.jspecify.annotations.Nullable;
import outbox.spi.TxCallbacks;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;

/**
 * One transaction: its connection and the callbacks that run when it ends. Business code gets a proxy of the
 * connection. The proxy observes savepoints, so that a callback that was registered after a savepoint is dropped
 * when the transaction is rolled back to it. Used by one thread.
 */
public final class TxScope implements InvocationHandler {

    private final Connection physical;
    private final @Nullable TxScope suspended;
    private final Connection connection;
    private final TxCallbacks callbacks = new TxCallbacks();
    private boolean readOnly;

    public TxScope(Connection physical, boolean readOnly, @Nullable TxScope suspended) {
        this.physical = physical;
        this.suspended = suspended;
        this.readOnly = readOnly;
        this.connection = (Connection)
                Proxy.newProxyInstance(TxScope.class.getClassLoader(), new Class<?>[] {Connection.class}, this);
    }

    /** Returns the transaction that the connection belongs to, or null if the library did not begin it. */
    public static @Nullable TxScope of(Connection connection) {
        return Proxy.isProxyClass(connection.getClass())
                        && Proxy.getInvocationHandler(connection) instanceof TxScope scope
                ? scope
                : null;
    }

    public Connection connection() {
        return connection;
    }

    public Connection physical() {
        return physical;
    }

    /** Returns the transaction of the same thread that continues when this one ends, or null if there is none. */
    @Nullable
    public TxScope suspended() {
        return suspended;
    }

    /** Uses a stored value, because some drivers query the server on each call. */
    public boolean isReadOnly() {
        return readOnly;
    }

    public TxCallbacks callbacks() {
        return callbacks;
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] args) throws Throwable {
        switch (method.getName()) {
            case "commit", "setAutoCommit" -> throw refused(method);
            case "rollback" -> {
                if (args == null) {
                    throw refused(method);
                }
                Object result = call(method, args);
                callbacks.savepointRollback(Objects.requireNonNull(args[0]));
                return result;
            }
            case "setSavepoint" -> {
                Object savepoint = call(method, args);
                callbacks.savepoint(savepoint);
                return savepoint;
            }
            case "setReadOnly" -> {
                Object result = call(method, args);
                readOnly = physical.isReadOnly();
                return result;
            }
            case "close" -> {
                return null; // ignored: the connection is closed when the transaction ends
            }
            case "equals" -> {
                return args != null && proxy == args[0];
            }
            case "hashCode" -> {
                return System.identityHashCode(proxy);
            }
            default -> {
                return call(method, args);
            }
        }
    }

    private static SQLException refused(Method method) {
        return new SQLException("Connection." + method.getName()
                + " is not available inside a transaction of JdbcTransactionManager: use commit, "
                + "rollback and close of the Transaction");
    }

    private Object call(Method method, @Nullable Object @Nullable [] args) throws Throwable {
        try {
            return method.invoke(physical, args);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }
}
