package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

class ProtectionTest {

    @Nested
    class OnH2 extends ProtectionContract {
        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends ProtectionContract {
        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ProtectionContract {
        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends ProtectionContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
