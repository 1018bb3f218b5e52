package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

class EngineTest {

    @Nested
    class OnH2 extends EngineContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends EngineContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("pgbouncer")
    class OnPgBouncer extends EngineContract {

        OnPgBouncer() {
            super(Databases.POSTGRES, Databases::fixtureBehindPgBouncer);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends EngineContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends EngineContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
