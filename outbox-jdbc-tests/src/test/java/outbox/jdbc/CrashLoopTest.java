package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/**
 * Not on H2, because its database would end with the process. Not on MySQL, because it uses the MariaDB store;
 * CrashTest kills processes there.
 */
class CrashLoopTest {

    @Nested
    class OnPostgres extends CrashLoopContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends CrashLoopContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }
}
