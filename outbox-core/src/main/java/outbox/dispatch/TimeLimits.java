package outbox.dispatch;

import java.time.Duration;
import java.util.Collections;
import java.util.Map;

/**
 * How long listeners may run: the limit for the name of the listener, otherwise the limit of
 * the dispatcher. Immutable.
 */
final class TimeLimits {

    private final Duration general;
    private final Map<String, Duration> byListener;

    TimeLimits(Duration general, Map<String, Duration> byListener) {
        this.general = general;
        this.byListener = Map.copyOf(byListener);
    }

    Duration of(Route route) {
        return byListener.isEmpty() ? general : byListener.getOrDefault(route.name(), general);
    }

    Duration shortest() {
        Duration own = byListener.isEmpty() ? general : Collections.min(byListener.values());
        return own.compareTo(general) < 0 ? own : general;
    }
}
