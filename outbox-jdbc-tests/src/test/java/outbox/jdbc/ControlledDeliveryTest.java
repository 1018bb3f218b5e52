package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

class ControlledDeliveryTest {

    @Nested
    class OnH2 extends ControlledDeliveryContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends ControlledDeliveryContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ControlledDeliveryContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends ControlledDeliveryContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
