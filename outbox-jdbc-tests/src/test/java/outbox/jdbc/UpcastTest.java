package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.memory.MemoryEventStore;

class UpcastTest {

    @Nested
    class InMemory extends UpcastContract {

        @Override
        Place createPlace(ThreadLocalTxContext tx) {
            MemoryEventStore store = new MemoryEventStore(tx);
            return new Place(store.connections(), store);
        }
    }

    @Nested
    class OnH2 extends UpcastContract {

        @Override
        Place createPlace(ThreadLocalTxContext tx) {
            return Place.in(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends UpcastContract {

        @Override
        Place createPlace(ThreadLocalTxContext tx) {
            return Place.in(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends UpcastContract {

        @Override
        Place createPlace(ThreadLocalTxContext tx) {
            return Place.in(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends UpcastContract {

        @Override
        Place createPlace(ThreadLocalTxContext tx) {
            return Place.in(Databases.MYSQL);
        }
    }
}
