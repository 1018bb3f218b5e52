package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on H2, because races are tested on real servers. Not on MySQL, because it uses the MariaDB store. */
class CancelRaceTest {

    @Nested
    class OnPostgres extends CancelRaceContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends CancelRaceContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }
}
