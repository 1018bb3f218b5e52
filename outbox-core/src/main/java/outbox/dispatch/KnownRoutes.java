package outbox.dispatch;

import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.registry.ListenerRegistry;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Set;

/** The routes that a dispatcher has listeners for, if it accepts no other events. Thread-safe. */
final class KnownRoutes {

    private static final Logger LOG = SafeLogger.of(KnownRoutes.class);

    private final ListenerRegistry registry;
    private final Duration untakenLimit;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private volatile Set<String> last; // routes that the registry reported last; poller threads write it

    /** Throws if the registry cannot list its routes, or if the store cannot skip events of other routes. */
    KnownRoutes(ListenerRegistry registry, EventStore store, Duration untakenLimit) {
        this.registry = registry;
        this.untakenLimit = untakenLimit;
        if (store.capability(LeasingEventStore.class)
                .filter(LeasingEventStore::canWithhold)
                .isEmpty()) {
            throw new IllegalArgumentException("takeOnlyKnown needs a store that can withhold events, but "
                    + store.getClass().getName() + " cannot: it does not implement " + LeasingEventStore.class.getName()
                    + ".canWithhold");
        }
        this.last = registry.routes()
                .orElseThrow(() -> new IllegalArgumentException(
                        "takeOnlyKnown needs a registry that can list what it has listeners for, but "
                                + registry.getClass().getName() + " does not implement "
                                + ListenerRegistry.class.getName() + ".routes"));
    }

    Duration untakenLimit() {
        return untakenLimit;
    }

    /**
     * Returns the current routes, because listeners may be added at runtime. If the registry throws, the routes that
     * it reported last are used.
     */
    Set<String> routes() {
        try {
            last = registry.routes().orElse(last);
        } catch (Throwable e) { // from user code
            trouble.log(Level.ERROR, "The registry cannot list its routes; those of before are used", e);
        }
        return last;
    }
}
