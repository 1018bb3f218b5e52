package outbox.fake;

import outbox.spi.ConnectionProvider;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Connections without a database. They remember their settings and count how many are open. */
public final class FakeConnections implements ConnectionProvider {

    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger commits = new AtomicInteger();
    private volatile boolean down;

    @Override
    public Connection getConnection() throws SQLException {
        if (down) {
            throw new SQLException("The database is away", "08006");
        }
        open.incrementAndGet();
        return connection(true, false);
    }

    /** Returns a connection in the state that a business transaction would have. */
    public Connection connection(boolean autoCommit, boolean readOnly) {
        Map<String, Object> state = new ConcurrentHashMap<>(
                Map.of("AutoCommit", autoCommit, "ReadOnly", readOnly, "NetworkTimeout", 0, "Closed", false));
        return (Connection) Proxy.newProxyInstance(
                FakeConnections.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (self, method, arguments) -> {
                    String name = method.getName();
                    if (name.startsWith("set") && arguments.length > 0) {
                        state.put(name.substring(3), arguments[arguments.length - 1]);
                        return null;
                    }
                    switch (name) {
                        case "commit" -> commits.incrementAndGet();
                        case "close" -> {
                            if (Boolean.FALSE.equals(state.put("Closed", true))) {
                                open.decrementAndGet();
                            }
                        }
                        case "toString" -> {
                            return "FakeConnection" + state;
                        }
                        case "hashCode" -> {
                            return System.identityHashCode(self);
                        }
                        case "equals" -> {
                            return self == arguments[0];
                        }
                        default -> {
                            return state.get(name.replaceFirst("^(get|is)", ""));
                        }
                    }
                    return null;
                });
    }

    public void goDown(boolean away) {
        down = away;
    }

    /** Returns the number of connections that were not closed. */
    public int open() {
        return open.get();
    }

    public int commits() {
        return commits.get();
    }
}
