package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.spi.EventControl;
import outbox.spi.EventStore;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;

import java.util.Optional;

class ReconcileTest {

    /** Uses a store without a table for jobs, so the state of the jobs is kept in the process. */
    @Nested
    class InMemory extends ReconcileContract {

        InMemory() {
            super(Databases.H2);
        }

        @Override
        EventStore store() {
            return new ForwardingEventStore(new H2EventStore()) {
                @Override
                public <T> Optional<T> capability(Class<T> type) {
                    return type == LeasingEventStore.class || type == EventControl.class
                            ? super.capability(type)
                            : Optional.empty();
                }
            };
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
