package outbox.benchmarks;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The threads that make business changes. Writer w makes the changes w, w + 8, w + 16 and so on, one
 * after the other.
 */
final class Writers {
    private static final int TRIES = 100;

    private Writers() {}

    /** The work of a writer for one event. */
    interface Write {
        void write(int writer, Event event) throws Exception;
    }

    /** A change that can be repeated. */
    interface Change {
        void make() throws Exception;
    }

    /** Lets the writers write all events of the plan. Returns when they began, by {@link System#nanoTime()}. */
    static long run(Plan plan, Write write) throws Exception {
        return run(plan, 0, plan.events(), write);
    }

    /** Lets the writers write the events from one number up to, but not including, another. */
    static long run(Plan plan, int from, int before, Write write) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(Plan.WRITERS);
        CountDownLatch start = new CountDownLatch(1);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (int i = 0; i < Plan.WRITERS; i++) {
                int writer = i;
                ends.add(threads.submit(() -> {
                    start.await();
                    for (int number = from + writer; number < before; number += Plan.WRITERS) {
                        Event event = plan.event(number);
                        withRetry(() -> write.write(writer, event));
                    }
                    return null;
                }));
            }
            long began = System.nanoTime();
            start.countDown();
            for (Future<?> end : ends) {
                end.get();
            }
            return began;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        } finally {
            threads.shutdownNow();
        }
    }

    /**
     * Repeats the change after a deadlock. Some contenders deadlock occasionally on MariaDB, and their users would
     * retry too.
     */
    static void withRetry(Change change) throws Exception {
        for (int attempt = 1; ; attempt++) {
            try {
                change.make();
                return;
            } catch (Exception e) {
                if (attempt == TRIES || !isRolledBack(e)) {
                    throw e;
                }
            }
        }
    }

    private static boolean isRolledBack(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException sql
                    && sql.getSQLState() != null
                    && sql.getSQLState().startsWith("40")) {
                return true;
            }
        }
        return false;
    }
}
