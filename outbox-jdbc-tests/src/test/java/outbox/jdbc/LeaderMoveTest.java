package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on H2, because it has no session lock; it has only the lease that LeadershipTest covers. */
class LeaderMoveTest {

    @Nested
    class OnPostgres extends LeaderMoveContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends LeaderMoveContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends LeaderMoveContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
