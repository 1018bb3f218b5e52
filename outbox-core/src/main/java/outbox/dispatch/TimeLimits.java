package outbox.dispatch;

import outbox.EventEnvelope;

import java.time.Duration;
import java.util.Collections;
import java.util.Map;

/** How long listeners may run: those that have a limit of their own by their name, the others as the dispatcher says. Immutable. */
final class TimeLimits {

    private final Duration general;
    private final Map<String, Duration> byListener;
    private final ListenerNames names;

    TimeLimits(Duration general, Map<String, Duration> byListener, ListenerNames names) {
        this.general = general;
        this.byListener = Map.copyOf(byListener);
        this.names = names;
    }

    Duration of(EventEnvelope event) {
        return byListener.isEmpty() ? general : byListener.getOrDefault(names.of(event), general);
    }

    Duration shortest() {
        Duration own = byListener.isEmpty() ? general : Collections.min(byListener.values());
        return own.compareTo(general) < 0 ? own : general;
    }
}
