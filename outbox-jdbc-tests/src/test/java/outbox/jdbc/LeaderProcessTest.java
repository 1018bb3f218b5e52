package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on H2, because its database would end with the process of the leader. */
class LeaderProcessTest {

    @Nested
    class OnPostgres extends LeaderProcessContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends LeaderProcessContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends LeaderProcessContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
