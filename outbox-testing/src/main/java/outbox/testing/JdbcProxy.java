package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.testing.FaultyDataSource.Call;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;

/**
 * Stands between code and an object of the driver and plays the script. A proxy of the JDK, not a class of delegates:
 * the JDBC interfaces have hundreds of methods and grow with the JDK.
 */
abstract class JdbcProxy implements InvocationHandler {
    /** Methods whose first argument is SQL, if they have one. */
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

    /** Called when a call is about to have its effect. */
    abstract void calling(Call call);

    /** Called when a call has had its effect; what it returns is what the caller gets. */
    abstract @Nullable Object called(Object proxy, Call call, Object[] arguments, @Nullable Object result);

    /** The SQL of calls that bring none themselves. */
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
            throw e.getCause(); // what the driver threw
        }
    }

    private static boolean isOf(Object type, Object proxy) {
        return ((Class<?>) type).isInstance(proxy);
    }
}
