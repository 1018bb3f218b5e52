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
        ends = one(factory); // its queue is bounded by what is in flight: each ends once
        client = one(factory); // and this by the channels that close
    }

    /** After the close, what comes late runs on the thread that brings it. */
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

    /** Where stages end. */
    ExecutorService ends() {
        return ends;
    }

    /** Where the client tells that a channel has ended. */
    ExecutorService client() {
        return client;
    }

    void close() {
        timer.shutdownNow();
        ends.shutdown();
        client.shutdown();
    }
}
