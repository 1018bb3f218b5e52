package outbox.jdbc;

import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;

/**
 * The main program of a node that works on a {@link HostileTable} until it is killed. Arguments: JDBC URL, kind of
 * the table.
 */
final class HostileNode {

    private HostileNode() {}

    public static void main(String[] args) throws Exception {
        DataSource pool = Databases.newPool(args[0], 5, true);
        try (Node node = new Node(pool, HostileTable.Kind.valueOf(args[1]).store(pool))) {
            node.listener = event -> node.delivered.clear(); // it keeps every event otherwise
            node.poller.start();
            System.out.println("STARTED");
            new CountDownLatch(1).await();
        }
    }
}
