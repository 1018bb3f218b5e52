package outbox.jdbc;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/**
 * A data source that behaves like a proxy with transaction pooling. Each statement is a transaction. The first
 * {@code faithful} statements go to the first session; after that, each statement goes to another session. The
 * sessions outlive the connections.
 */
final class SwitchingProxy implements AutoCloseable {

    private final List<Connection> sessions = new ArrayList<>();
    private final int faithful;
    private final AtomicInteger statements = new AtomicInteger();

    SwitchingProxy(DataSource direct, int faithful) throws SQLException {
        this.faithful = faithful;
        for (int i = 0; i < 3; i++) {
            sessions.add(direct.getConnection());
        }
    }

    DataSource dataSource() {
        return proxy(DataSource.class, (method, args) -> {
            if (method.getName().equals("getConnection")) {
                return connection();
            }
            throw new UnsupportedOperationException(method.getName());
        });
    }

    private Connection connection() {
        return proxy(Connection.class, (method, args) -> switch (method.getName()) {
            case "close", "abort" -> null; // the sessions belong to the proxy
            case "prepareStatement", "createStatement" -> method.invoke(next(), args);
            default -> method.invoke(sessions.get(0), args);
        });
    }

    private Connection next() {
        int number = statements.incrementAndGet();
        return sessions.get(number <= faithful ? 0 : number % sessions.size());
    }

    private interface Call {
        @Nullable
        Object on(Method method, Object[] args) throws ReflectiveOperationException;
    }

    private static <T> T proxy(Class<T> type, Call call) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> {
            try {
                return call.on(method, args);
            } catch (InvocationTargetException e) {
                throw e.getTargetException();
            }
        }));
    }

    @Override
    public void close() throws SQLException {
        for (Connection session : sessions) {
            session.close();
        }
    }
}
