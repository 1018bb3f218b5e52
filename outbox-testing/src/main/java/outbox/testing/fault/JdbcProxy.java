package outbox.testing.fault;

import org.jspecify.annotations.Nullable;
import outbox.testing.fault.FaultyDataSource.Call;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;

/**
 * A proxy between the code under test and an object of the driver; it applies the fault script. It is a JDK proxy
 * and not a delegating class, because the JDBC interfaces have hundreds of methods and the JDK adds more.
 */
abstract class JdbcProxy implements InvocationHandler {
    /** Methods whose first argument, if there is one, is SQL. */
    private static final Set<String> WITH_SQL = Set.of(
            "prepareStatement",
            "prepareCall",
            "nativeSQL",
            "addBatch",
            "execute",
            "executeQuery",
            "executeUpdate",
            "executeLargeUpdate");

    private final Object target;
    private final FaultScript script;

    JdbcProxy(Object target, FaultScript script) {
        this.target = target;
        this.script = script;
    }

    /** Called before a call takes effect. */
    abstract void calling(Call call);

    /** Called after a call has taken effect. The caller receives the returned object. */
    abstract @Nullable Object called(Object proxy, Call call, Object[] arguments, @Nullable Object result);

    /** Returns the SQL for calls that have no SQL argument. */
    abstract @Nullable String preparedSql();

    static <P> P create(Class<P> type, JdbcProxy handler) {
        return type.cast(Proxy.newProxyInstance(JdbcProxy.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public final @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given) throws Throwable {
        Object[] arguments = given == null ? new Object[0] : given;
        return switch (method.getName()) {
            case "equals" -> proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            case "toString" -> "faulty " + target;
            case "isWrapperFor" -> isOf(arguments[0], proxy) ? true : forward(method, arguments);
            case "unwrap" -> isOf(arguments[0], proxy) ? proxy : forward(method, arguments);
            default -> play(proxy, method, arguments);
        };
    }

    private @Nullable Object play(Object proxy, Method method, Object[] arguments) throws Throwable {
        var sql = preparedSql();
        if (WITH_SQL.contains(method.getName()) && arguments.length > 0) {
            sql = script.rewrite((String) arguments[0]);
            arguments[0] = sql;
        }
        var call = new Call(method.getName(), sql);
        script.before(call);
        calling(call);
        var result = called(proxy, call, arguments, forward(method, arguments));
        script.after(call);
        return result;
    }

    private @Nullable Object forward(Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause(); // rethrow the exception of the driver
        }
    }

    private static boolean isOf(Object type, Object proxy) {
        return ((Class<?>) type).isInstance(proxy);
    }
}
