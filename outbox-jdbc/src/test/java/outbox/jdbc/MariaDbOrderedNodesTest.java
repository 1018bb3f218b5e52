package outbox.jdbc;

class MariaDbOrderedNodesTest extends OrderedNodesContract {

    MariaDbOrderedNodesTest() {
        super(Databases.MARIADB);
    }
}
