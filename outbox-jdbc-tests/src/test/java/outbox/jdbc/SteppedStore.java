package outbox.jdbc;

import outbox.spi.EventControl;
import outbox.spi.EventOrder;
import outbox.spi.LeasingEventStore;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** A store that lets a test pause or fail the calling thread at named methods. */
final class SteppedStore {

    /** The real call of a method. */
    interface Call {
        Object run() throws Throwable;
    }

    /** The behaviour that replaces the real call. */
    interface Step {
        Object around(Call call) throws Throwable;
    }

    private final Map<String, Step> steps = new ConcurrentHashMap<>();
    private final LeasingEventStore store;

    SteppedStore(LeasingEventStore target) {
        store = (LeasingEventStore) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {LeasingEventStore.class, EventOrder.class, EventControl.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("capability") && ((Class<?>) arguments[0]).isInstance(proxy)) {
                        return Optional.of(proxy);
                    }
                    Call call = () -> {
                        try {
                            return method.invoke(target, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getTargetException();
                        }
                    };
                    Step step = steps.get(method.getName());
                    return step == null ? call.run() : step.around(call);
                });
    }

    LeasingEventStore store() {
        return store;
    }

    void at(String method, Step step) {
        steps.put(method, step);
    }
}
