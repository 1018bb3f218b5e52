package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on MySQL, because it uses the MariaDB store; EngineTest and SuspectTest run there. */
class KindsTest {

    @Nested
    class OnH2 extends KindsContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends KindsContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends KindsContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }
}
