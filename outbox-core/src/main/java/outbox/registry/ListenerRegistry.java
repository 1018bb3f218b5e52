package outbox.registry;

import org.jspecify.annotations.Nullable;
import outbox.EventListener;

/** Knows the single listener of each (aggregate type, event type). Asked from several worker threads at once. */
public interface ListenerRegistry {

    /** The listener, or {@code null} if none is registered. */
    @Nullable
    EventListener listenerFor(String aggregateType, String eventType);
}
