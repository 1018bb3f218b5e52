package outbox.internal;

import java.lang.reflect.Method;
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

    /** Virtual threads, which are there from Java 21 on. */
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
     * The JDK's factory of virtual threads.
     *
     * @throws IllegalArgumentException if this JVM has none
     */
    public static ThreadFactory requireVirtual() {
        try { // by name: the code is compiled for Java 17
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
