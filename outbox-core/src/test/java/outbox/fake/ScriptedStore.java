package outbox.fake;

import outbox.spi.LeasingEventStore;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.stream.Stream;

/** A store with claims whose calls a test handles by the name of the method. */
public final class ScriptedStore {

    private ScriptedStore() {}

    /** Returns a store with claims and the given capabilities. */
    public static LeasingEventStore of(InvocationHandler script, Class<?>... capabilities) {
        return (LeasingEventStore) Proxy.newProxyInstance(
                ScriptedStore.class.getClassLoader(),
                Stream.concat(Stream.of(LeasingEventStore.class), Stream.of(capabilities))
                        .toArray(Class<?>[]::new),
                (self, method, arguments) -> switch (method.getName()) {
                    case "capability" -> Optional.of(self).filter(store -> ((Class<?>) arguments[0]).isInstance(store));
                    case "isClockSettable", "canWithhold" -> false;
                    default -> script.invoke(self, method, arguments);
                });
    }
}
