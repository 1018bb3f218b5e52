package outbox.internal;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Names threads {@code outbox-<name>-<role>}. They are daemons: the application decides how long the process lives. */
public final class Threads {

    private static final AtomicInteger INSTANCES = new AtomicInteger();

    private Threads() {}

    /** A name for an instance that was given none. */
    public static String nextName() {
        return Integer.toString(INSTANCES.incrementAndGet());
    }

    public static ThreadFactory named(String name, String role) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, "outbox-" + name + "-" + role + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
