package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on MySQL, because it uses the MariaDB store; DeadHeadTest runs there. */
class ThreadTriplesTest {

    @Nested
    class OnH2 extends ThreadTriplesContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends ThreadTriplesContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ThreadTriplesContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }
}
