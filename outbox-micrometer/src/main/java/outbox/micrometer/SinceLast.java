package outbox.micrometer;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A gauge of the time since something last happened. It is registered at the first occurrence, so a node without one
 * has no gauge.
 */
final class SinceLast {

    private final TableMeters meters;
    private final String name;
    private final String description;
    private final AtomicBoolean registered = new AtomicBoolean();
    private volatile long lastNanos; // engine threads write, scrapes read

    SinceLast(TableMeters meters, String name, String description) {
        this.meters = meters;
        this.name = name;
        this.description = description;
    }

    void happened() {
        lastNanos = System.nanoTime();
        if (!registered.get() && registered.compareAndSet(false, true)) {
            meters.seconds(name, description, this, SinceLast::seconds);
        }
    }

    private double seconds() {
        return (System.nanoTime() - lastNanos) / 1e9;
    }
}
