package outbox.http;

import outbox.spi.SafeLogger;

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
 * The threads of one transport, a handful however many requests are in flight: some on which the client does its work, and one that ends requests past their limit. They are daemons.
 * The client's own selector thread is one more; before Java 21 it ends, with the idle connections, when the client is garbage.
 */
final class ClientThreads {

    private static final Logger LOG = SafeLogger.of(ClientThreads.class);
    private static final int MOST = 4; // nothing blocks on them but a look-up of the host's name

    private final ThreadPoolExecutor executor;
    private final ScheduledThreadPoolExecutor timer;

    ClientThreads(String name) {
        // The queue is bounded by what is in flight. After the close the client may still clean up: on its own thread
        // then.
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
        try { // by name: the code is compiled for Java 17
            HttpClient.class.getMethod("shutdownNow").invoke(client);
        } catch (NoSuchMethodException e) {
            LOG.log(Level.DEBUG, "Before Java 21 a client ends when it is garbage");
        } catch (ReflectiveOperationException e) {
            LOG.log(Level.WARNING, "An HTTP client could not be shut down; it ends when it is garbage", e);
        }
    }
}
