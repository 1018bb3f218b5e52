package outbox.rabbitmq;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The threads of one transport; their number does not depend on the events in flight. Daemons, named {@code
 * outbox-<name>-rabbitmq…}.
 */
final class TransportThreads {

    private final ThreadFactory factory;
    private final ScheduledThreadPoolExecutor timer;
    private final ThreadPoolExecutor ends;
    private final ThreadPoolExecutor client;

    TransportThreads(String name) {
        AtomicInteger number = new AtomicInteger();
        factory = task -> {
            Thread thread = new Thread(task, "outbox-" + name + "-rabbitmq-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
        timer = new ScheduledThreadPoolExecutor(1, factory);
        timer.setRemoveOnCancelPolicy(true);
        ends = one(factory); // the events in flight bound its queue: each completes once
        client = one(factory); // the closing channels bound this queue
    }

    /** Creates an executor with one thread. After shutdown, a late task runs on the submitting thread. */
    private static ThreadPoolExecutor one(ThreadFactory factory) {
        RejectedExecutionHandler onCaller = (task, closed) -> task.run();
        return new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory, onCaller);
    }

    ThreadFactory factory() {
        return factory;
    }

    ScheduledThreadPoolExecutor timer() {
        return timer;
    }

    /** Completes the stages. */
    ExecutorService ends() {
        return ends;
    }

    /** Runs the shutdown callbacks of the client. */
    ExecutorService client() {
        return client;
    }

    void close() {
        timer.shutdownNow();
        ends.shutdown();
        client.shutdown();
    }
}
