package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

class BulkWriteTest {

    @Nested
    class OnH2 extends BulkWriteContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends BulkWriteContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends BulkWriteContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends BulkWriteContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
