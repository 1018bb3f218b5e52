package outbox.registry;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.EventListener;
import outbox.EventType;
import outbox.internal.ListenerSettings;

import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** An in-memory registry. Listeners may be added while events are being delivered. */
public final class DefaultListenerRegistry implements ListenerRegistry {

    private final Map<Key, EventListener> listeners = new ConcurrentHashMap<>();

    /** Registers a listener for events without an aggregate type, that is for {@link AggregateType#GLOBAL}. */
    public DefaultListenerRegistry register(String eventType, EventListener listener) {
        return register(AggregateType.GLOBAL.name(), eventType, listener);
    }

    /** Registers a listener for events without an aggregate type, that is for {@link AggregateType#GLOBAL}. */
    public DefaultListenerRegistry register(EventType eventType, EventListener listener) {
        return register(eventType.name(), listener);
    }

    public DefaultListenerRegistry register(AggregateType aggregateType, EventType eventType, EventListener listener) {
        return register(aggregateType.name(), eventType.name(), listener);
    }

    public DefaultListenerRegistry register(AggregateType aggregateType, String eventType, EventListener listener) {
        return register(aggregateType.name(), eventType, listener);
    }

    /**
     * Registers a listener.
     *
     * @throws IllegalStateException if the pair already has a listener
     * @throws IllegalArgumentException if the batch size or in-flight limit of the listener is less than 1
     */
    public DefaultListenerRegistry register(String aggregateType, String eventType, EventListener listener) {
        Objects.requireNonNull(listener, "listener");
        ListenerSettings.check(listener);
        if (listeners.putIfAbsent(new Key(aggregateType, eventType), listener) != null) {
            throw new IllegalStateException("A listener for " + aggregateType + ":" + eventType
                    + " is already registered. Each pair has one listener; put what concerns every event "
                    + "into an EventInterceptor.");
        }
        return this;
    }

    @Override
    public @Nullable EventListener listenerFor(String aggregateType, String eventType) {
        return listeners.get(new Key(aggregateType, eventType));
    }

    @Override
    public Optional<Set<String>> routes() {
        return Optional.of(listeners.keySet().stream()
                .map(key -> key.aggregateType() + ":" + key.eventType())
                .collect(Collectors.toSet()));
    }

    private record Key(String aggregateType, String eventType) {

        Key {
            Objects.requireNonNull(aggregateType, "aggregateType");
            Objects.requireNonNull(eventType, "eventType");
        }
    }
}
