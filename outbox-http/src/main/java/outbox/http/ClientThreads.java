package outbox.http;

import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.http.HttpClient;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The threads of one transport; their number does not depend on the requests in flight. The executor runs the work of
 * the client, and the timer ends requests at their time limit. All are daemons. The client also has a selector
 * thread; before Java 21 it ends, with idle connections, when the client is garbage-collected.
 */
final class ClientThreads {

    private static final Logger LOG = SafeLogger.of(ClientThreads.class);
    private static final int MOST = 4; // only name resolution blocks these threads

    private final ThreadPoolExecutor executor;
    private final ScheduledThreadPoolExecutor timer;

    ClientThreads(String name) {
        // The requests in flight bound the queue. After shutdown, a late task of the client runs on the submitting
        // thread.
        executor = new ThreadPoolExecutor(
                MOST,
                MOST,
                30,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                named(name, "http"),
                (task, closed) -> task.run());
        executor.allowCoreThreadTimeOut(true);
        timer = new ScheduledThreadPoolExecutor(1, named(name, "http-timer"));
        timer.setRemoveOnCancelPolicy(true);
    }

    private static ThreadFactory named(String name, String role) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, "outbox-" + name + "-" + role + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }

    Executor executor() {
        return executor;
    }

    ScheduledThreadPoolExecutor timer() {
        return timer;
    }

    void close(HttpClient client) {
        timer.shutdownNow();
        shutDown(client);
        executor.shutdown();
    }

    private static void shutDown(HttpClient client) {
        try { // by reflection, because the code is compiled for Java 17
            HttpClient.class.getMethod("shutdownNow").invoke(client);
        } catch (NoSuchMethodException e) {
            LOG.log(Level.DEBUG, "Before Java 21 an HTTP client ends when it is garbage-collected");
        } catch (ReflectiveOperationException e) {
            LOG.log(Level.WARNING, "The HTTP client could not be shut down; it ends when it is garbage-collected", e);
        }
    }
}
