package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on H2, because its database would end with a killed process. */
class OrderTortureTest {

    @Nested
    class OnPostgres extends OrderTortureContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends OrderTortureContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends OrderTortureContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
