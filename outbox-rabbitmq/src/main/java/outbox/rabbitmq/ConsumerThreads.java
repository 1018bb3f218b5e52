package outbox.rabbitmq;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Names threads {@code outbox-<name>-<role>}. They are daemon threads, so they do not keep the process alive. */
final class ConsumerThreads {

    private ConsumerThreads() {}

    static ThreadFactory named(String name, String role) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, "outbox-" + name + "-" + role + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
