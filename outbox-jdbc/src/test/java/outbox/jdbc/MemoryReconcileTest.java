package outbox.jdbc;

import outbox.spi.ControlledEventStore;
import outbox.spi.EventStore;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/** With a store that has no place for jobs: what is known of them is in the process. */
class MemoryReconcileTest extends ReconcileContract {

    MemoryReconcileTest() {
        super(Databases.H2);
    }

    @Override
    EventStore store() {
        H2EventStore store = new H2EventStore();
        return (EventStore) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {ControlledEventStore.class}, (proxy, method, args) -> {
                    try {
                        return method.invoke(store, args);
                    } catch (InvocationTargetException e) {
                        throw e.getTargetException();
                    }
                });
    }
}
