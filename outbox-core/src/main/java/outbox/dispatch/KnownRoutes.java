package outbox.dispatch;

import outbox.EventEnvelope;
import outbox.internal.QuietLog;
import outbox.registry.ListenerRegistry;
import outbox.spi.EventStore;
import outbox.spi.SafeLogger;
import outbox.spi.WithholdingEventStore;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Set;

/** What a dispatcher has listeners for, where it takes nothing else. Thread-safe. */
final class KnownRoutes {

    private static final Logger LOG = SafeLogger.of(KnownRoutes.class);

    private final ListenerRegistry registry;
    private final Duration untakenLimit;
    private final QuietLog trouble = new QuietLog(LOG);
    private volatile Set<String> last; // what the registry said last; poller threads write

    /** Refuses a registry that cannot list its routes, and a store that cannot pass over the others. */
    KnownRoutes(ListenerRegistry registry, EventStore store, Duration untakenLimit) {
        this.registry = registry;
        this.untakenLimit = untakenLimit;
        if (!(store instanceof WithholdingEventStore)) {
            throw new IllegalArgumentException("takeOnlyKnown needs a store that can pass over events, but "
                    + store.getClass().getName() + " does not implement " + WithholdingEventStore.class.getName());
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

    /** Listeners may be added while events flow. A registry that fails has said its last before. */
    Set<String> routes() {
        try {
            last = registry.routes().orElse(last);
        } catch (Throwable e) { // of user code
            trouble.log(Level.ERROR, "The registry cannot list its routes; those of before are used", e);
        }
        return last;
    }

    /** Whether there is a listener; also if the registry fails, which it will do again in the run. */
    boolean has(EventEnvelope event) {
        try {
            return registry.listenerFor(event.aggregateType(), event.eventType()) != null;
        } catch (Throwable e) { // of user code
            return true;
        }
    }
}
