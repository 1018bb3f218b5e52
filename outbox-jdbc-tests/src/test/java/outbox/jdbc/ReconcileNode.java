package outbox.jdbc;

import outbox.reconcile.Found;
import outbox.reconcile.Reconciler;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import javax.sql.DataSource;

/**
 * The main program of a node with a reconcile job. Arguments: JDBC URL, name of the database, and the time of its
 * death: BEFORE or AFTER the commit of its third batch of events, or NEVER.
 */
final class ReconcileNode {

    static final int EXIT = 77;
    private static final int FATAL_BATCH = 3;

    private enum Death {
        BEFORE,
        AFTER,
        NEVER
    }

    private ReconcileNode() {}

    public static void main(String[] args) throws Exception {
        Databases database = Databases.valueOf(args[1]);
        Death death = Death.valueOf(args[2]);
        DataSource pool = Databases.newPool(args[0], 6, true);
        Enrollments enrollments = new Enrollments(pool);
        AtomicInteger batches = new AtomicInteger();
        Reconciler reconciler = Reconciler.builder()
                .connectionProvider(() -> mortal(pool.getConnection(), death, batches))
                .eventStore(database.store())
                .lookEvery(Duration.ofMillis(50))
                .ownerId("child")
                .job(enrollments
                        .job()
                        .finder(search -> slowly(enrollments.find(search)))
                        .build())
                .build();
        System.out.println("STARTED");
        runUntil(reconciler, () -> false); // the test ends this process if it does not end itself
    }

    /** Runs the job repeatedly, unless another node holds it. */
    static void runUntil(Reconciler reconciler, BooleanSupplier isDone) {
        while (!isDone.getAsBoolean()) {
            reconciler.run(Enrollments.JOB);
        }
    }

    /** Delays the result of a search, so that other nodes have time to take the job and to deliver. */
    static Found slowly(Found found) throws InterruptedException {
        new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        return found;
    }

    /** A connection that ends the process before or after the commit of events. */
    private static Connection mortal(Connection connection, Death death, AtomicInteger batches) {
        boolean[] hasEvents = {false}; // since the last commit
        return (Connection) Proxy.newProxyInstance(
                ReconcileNode.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
                    boolean isBatch = method.getName().equals("commit") && hasEvents[0];
                    boolean isFatal = isBatch && batches.incrementAndGet() == FATAL_BATCH;
                    if (isBatch) {
                        hasEvents[0] = false;
                    }
                    if (method.getName().equals("prepareStatement")
                            && String.valueOf(args[0]).startsWith("INSERT INTO outbox_event")) {
                        hasEvents[0] = true;
                    }
                    dieIf(isFatal && death == Death.BEFORE);
                    try {
                        Object answer = method.invoke(connection, args);
                        if (isBatch) {
                            System.out.println("BATCH " + batches.get());
                        }
                        return answer;
                    } catch (InvocationTargetException e) {
                        throw e.getTargetException();
                    } finally {
                        dieIf(isFatal && death == Death.AFTER);
                    }
                });
    }

    private static void dieIf(boolean fatal) throws SQLException {
        if (fatal) {
            Runtime.getRuntime().halt(EXIT);
        }
    }
}
