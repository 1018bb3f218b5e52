package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.spi.ControlledEventStore;
import outbox.spi.EventStore;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

class ReconcileTest {

    /** Uses a store without a table for jobs, so the state of the jobs is kept in the process. */
    @Nested
    class InMemory extends ReconcileContract {

        InMemory() {
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

    @Nested
    class OnH2 extends ReconcileContract.Shared {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends ReconcileContract.Shared {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ReconcileContract.Shared {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends ReconcileContract.Shared {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
