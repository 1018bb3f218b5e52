package outbox.jdbc;

import outbox.relay.RelayStatus;
import outbox.spi.LeasingEventStore;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Logger;
import javax.sql.DataSource;

/**
 * The main program of a node that works on a {@link HostileTable} until it is killed, and prints each change of its
 * health. Arguments: JDBC URL, kind of the table.
 */
final class HostileNode {

    /** If a mark fails because of the time limit of the database, its event is delivered again after this time. */
    private static final Duration LEASE = Duration.ofSeconds(15);

    static final String UP = "HEALTH UP";
    static final String DOWN = "HEALTH DOWN: ";

    private static final Duration LONGEST_SILENCE = Duration.ofSeconds(30); // the default of the relay command

    /** Prints a stack trace for each bad row, but only the last lines of a process are kept. A strong reference. */
    private static final Logger POLL_LOG = Logger.getLogger("outbox.poller.PollCycle");

    private HostileNode() {}

    public static void main(String[] args) throws Exception {
        POLL_LOG.setFilter(line -> !line.getMessage().endsWith("cannot be decoded and is dead"));
        DataSource pool = Databases.newPool(args[0], 5, true);
        LeasingEventStore store = HostileTable.Kind.valueOf(args[1]).store(pool);
        try (Node node = Node.withLease(pool, store, LEASE)) {
            node.listener = event -> node.delivered.clear(); // otherwise it would keep every event
            node.poller.start();
            System.out.println("STARTED");
            String told = "";
            CountDownLatch never = new CountDownLatch(1);
            while (!never.await(100, TimeUnit.MILLISECONDS)) {
                String health = health(node);
                if (!health.equals(told)) {
                    System.out.println(health);
                    told = health;
                }
            }
        }
    }

    /** Returns the result of a health check of this node. */
    private static String health(Node node) {
        String fault = RelayStatus.of(node.poller, node.dispatcher, null).fault(LONGEST_SILENCE);
        return fault == null ? UP : DOWN + fault;
    }
}
