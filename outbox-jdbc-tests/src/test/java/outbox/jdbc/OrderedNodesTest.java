package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Not on H2, because races are tested on real servers. Not on MySQL, where OrderTortureTest uses more nodes. */
class OrderedNodesTest {

    @Nested
    class OnPostgres extends OrderedNodesContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends OrderedNodesContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }
}
