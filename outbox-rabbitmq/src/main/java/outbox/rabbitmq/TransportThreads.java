package outbox.rabbitmq;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The threads of one transport, however many events are in flight: daemons, named {@code outbox-<name>-rabbitmq…}. */
final class TransportThreads {

    private final ThreadFactory factory;
    private final ScheduledThreadPoolExecutor timer;
    private final ThreadPoolExecutor ends;

    TransportThreads(String name) {
        AtomicInteger number = new AtomicInteger();
        factory = task -> {
            Thread thread = new Thread(task, "outbox-" + name + "-rabbitmq-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
        timer = new ScheduledThreadPoolExecutor(1, factory);
        timer.setRemoveOnCancelPolicy(true);
        // The queue is bounded by what is in flight. After the close a late end runs on the thread that brings it.
        RejectedExecutionHandler onCaller = (task, closed) -> task.run();
        ends = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory, onCaller);
    }

    ThreadFactory factory() {
        return factory;
    }

    ScheduledThreadPoolExecutor timer() {
        return timer;
    }

    /** Where stages end. */
    ExecutorService ends() {
        return ends;
    }

    void close() {
        timer.shutdownNow();
        ends.shutdown();
    }
}
