package outbox.benchmarks;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import javax.sql.DataSource;

/**
 * Records when a commit of the current thread returned. It wraps the connections of a pool, so that all contenders
 * are measured in the same way.
 */
final class CommitClock {
    private static final long NONE = Long.MIN_VALUE;

    private final ThreadLocal<long[]> firstCommit = ThreadLocal.withInitial(() -> new long[] {NONE});

    /** Wraps the data source, so that this clock sees its commits. */
    DataSource watch(DataSource dataSource) {
        return proxy(DataSource.class, (method, arguments) -> {
            Object result = call(dataSource, method, arguments);
            return result instanceof Connection connection ? watch(connection) : result;
        });
    }

    private Connection watch(Connection connection) {
        return proxy(Connection.class, (method, arguments) -> {
            Object result = call(connection, method, arguments);
            if (method.getName().equals("commit")) {
                long[] first = firstCommit.get();
                if (first[0] == NONE) {
                    first[0] = System.nanoTime();
                }
            }
            return result;
        });
    }

    /** Forgets the commits of this thread. */
    void reset() {
        firstCommit.get()[0] = NONE;
    }

    /** Returns when the first commit of this thread since its reset returned. */
    long firstCommit() {
        long time = firstCommit.get()[0];
        if (time == NONE) {
            throw new IllegalStateException("This thread committed nothing");
        }
        return time;
    }

    private interface Call {
        Object answer(Method method, Object[] arguments) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, Call call) {
        return type.cast(Proxy.newProxyInstance(
                CommitClock.class.getClassLoader(),
                new Class<?>[] {type},
                (self, method, arguments) -> switch (method.getName()) {
                    case "equals" -> self == arguments[0];
                    case "hashCode" -> System.identityHashCode(self);
                    default -> call.answer(method, arguments);
                }));
    }

    private static Object call(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
