package outbox.jdbc;

class PostgresOrderedNodesTest extends OrderedNodesContract {

    PostgresOrderedNodesTest() {
        super(Databases.POSTGRES);
    }
}
