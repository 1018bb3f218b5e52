package outbox.registry;

import org.jspecify.annotations.Nullable;
import outbox.EventListener;

import java.util.Optional;
import java.util.Set;

/**
 * Finds the single listener of each pair of aggregate type and event type. Several worker threads call it at the
 * same time.
 */
public interface ListenerRegistry {

    /** Returns the listener, or {@code null} if none is registered. */
    @Nullable
    EventListener listenerFor(String aggregateType, String eventType);

    /**
     * Returns all pairs that currently have a listener, each as {@code aggregateType:eventType}. Empty, the default,
     * if the registry cannot list them.
     */
    default Optional<Set<String>> routes() {
        return Optional.empty();
    }
}
