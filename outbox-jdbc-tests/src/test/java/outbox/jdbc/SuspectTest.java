package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

class SuspectTest {

    @Nested
    class OnH2 extends SuspectContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends SuspectContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends SuspectContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends SuspectContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
