package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The main program of a node that drains a table with the default settings. After each tenth of the events it runs a
 * garbage collection and prints its used heap. Arguments: JDBC URL, name of the database, number of events, whether
 * delivered events are deleted.
 */
final class DrainNode {

    private DrainNode() {}

    public static void main(String[] args) throws Exception {
        int events = Integer.parseInt(args[2]);
        AtomicInteger delivered = new AtomicInteger();
        CountDownLatch all = new CountDownLatch(1);
        long start = System.nanoTime();
        try (HikariDataSource pool = Databases.newPool(args[0], 5, true);
                OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(pool::getConnection)
                        .eventStore(Databases.valueOf(args[1]).store())
                        .listenerRegistry((aggregateType, type) -> event -> {
                            int number = delivered.incrementAndGet();
                            if (number % (events / 10) == 0) {
                                tellUsedHeap(number);
                            }
                            if (number == events) {
                                all.countDown();
                            }
                        })
                        .deleteDone(Boolean.parseBoolean(args[3]))
                        .build();
                OutboxPoller poller = OutboxPoller.builder()
                        .connectionProvider(pool::getConnection)
                        .eventStore(Databases.valueOf(args[1]).store())
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .build()) {
            poller.start();
            all.await();
        }
        System.out.println(
                "DRAINED " + delivered + " in " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) + " ms");
    }

    @SuppressWarnings("SystemGc") // only a collection shows how much memory is really in use
    private static void tellUsedHeap(int delivered) {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        System.out.println("HEAP " + (runtime.totalMemory() - runtime.freeMemory()) / 1024 + " KB after " + delivered);
    }
}
