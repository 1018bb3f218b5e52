package outbox.registry;

import org.jspecify.annotations.Nullable;
import outbox.EventListener;

import java.util.Optional;
import java.util.Set;

/** Knows the single listener of each (aggregate type, event type). Asked from several worker threads at once. */
public interface ListenerRegistry {

    /** The listener, or {@code null} if none is registered. */
    @Nullable
    EventListener listenerFor(String aggregateType, String eventType);

    /** All pairs that have a listener now, each as {@code aggregateType:eventType}; empty, the default, if the registry cannot list them. */
    default Optional<Set<String>> routes() {
        return Optional.empty();
    }
}
