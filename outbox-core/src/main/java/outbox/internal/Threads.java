package outbox.internal;

import java.lang.reflect.Method;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Creates threads with names of the form {@code outbox-<name>-<role>}. They are daemon threads, so they do not keep
 * the process alive.
 */
public final class Threads {

    private static final AtomicInteger INSTANCES = new AtomicInteger();

    private Threads() {}

    /** Returns a name for an instance without a configured name. */
    public static String nextName() {
        return Integer.toString(INSTANCES.incrementAndGet());
    }

    /** Returns a factory for virtual threads, which require Java 21. */
    public static ThreadFactory virtual(String name, String role) {
        ThreadFactory unnamed = requireVirtual();
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = unnamed.newThread(task);
            thread.setName("outbox-" + name + "-" + role + "-" + number.incrementAndGet());
            return thread;
        };
    }

    /**
     * Returns the JDK factory for virtual threads.
     *
     * @throws IllegalArgumentException if this JVM does not support them
     */
    public static ThreadFactory requireVirtual() {
        try { // by reflection, because the code is compiled for Java 17
            Method ofVirtual = Thread.class.getMethod("ofVirtual");
            Method factory = ofVirtual.getReturnType().getMethod("factory");
            return (ThreadFactory) factory.invoke(ofVirtual.invoke(null));
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(
                    "virtualThreads needs Java 21 or later; this is Java " + Runtime.version(), e);
        }
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
