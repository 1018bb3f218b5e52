package outbox.jdbc;

import java.util.concurrent.CountDownLatch;

/**
 * The main program of a node with little memory. It prints a line when it has delivered all events. Arguments: JDBC
 * URL, name of the database, number of events.
 */
final class SmallHeapNode {

    private SmallHeapNode() {}

    public static void main(String[] args) throws Exception {
        CountDownLatch all = new CountDownLatch(Integer.parseInt(args[2]));
        try (Node node = new Node(
                Databases.newPool(args[0], 5, true), Databases.valueOf(args[1]).store())) {
            node.listener = event -> {
                node.delivered.clear(); // otherwise it would keep every event
                all.countDown();
            };
            node.poller.start();
            all.await();
        }
        System.out.println("DELIVERED " + args[2]);
    }
}
