package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on MySQL, because it uses the MariaDB store; OrderTest and DeadHeadTest run there. */
class OrderedDeliveryTest {

    @Nested
    class OnH2 extends OrderedDeliveryContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends OrderedDeliveryContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends OrderedDeliveryContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }
}
