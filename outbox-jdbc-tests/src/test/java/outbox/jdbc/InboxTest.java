package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PostgresServer;

class InboxTest {

    @Nested
    class OnH2 extends InboxContract {

        OnH2() {
            super(Databases.H2);
        }
    }

    @Nested
    class OnPostgres extends ServerInboxContract {

        OnPostgres() {
            super(Databases.POSTGRES, PostgresServer.shared());
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ServerInboxContract {

        OnMariaDb() {
            super(Databases.MARIADB, MariaDbServer.shared());
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends ServerInboxContract {

        OnMySql() {
            super(Databases.MYSQL, MySqlServer.shared());
        }
    }
}
