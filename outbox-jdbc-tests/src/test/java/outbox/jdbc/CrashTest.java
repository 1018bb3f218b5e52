package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on H2, because its database would end with the killed process. */
class CrashTest {

    @Nested
    class OnPostgres extends CrashContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends CrashContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends CrashContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
