package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.EventListener;
import outbox.dispatch.Limit;
import outbox.dispatch.RetryRule;
import outbox.registry.ListenerRegistry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The listeners of one outbox and where each comes from. An event goes to the listener that names its type, else to the one whose pattern fits: patterns have {@code *} for any run of
 * characters. A second listener for the same events is refused.
 */
public final class OutboxListeners implements ListenerRegistry {

    private final Map<String, Entry> exact = new LinkedHashMap<>();
    private final List<Entry> patterns = new ArrayList<>();

    @Override
    public synchronized @Nullable EventListener listenerFor(String aggregateType, String eventType) {
        throw new UnsupportedOperationException("not built yet");
    }

    @Override
    public synchronized Optional<Set<String>> routes() {
        if (!patterns.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(exact.values().stream()
                .map(entry -> entry.aggregateType() + ":" + entry.eventType())
                .collect(Collectors.toSet()));
    }

    /** A listener with the settings of its own; what is null is as the outbox has it. Its origin is what an error says: a method, a property. */
    public record Entry(
            String aggregateType,
            String eventType,
            EventListener listener,
            String origin,
            @Nullable RetryRule retry,
            @Nullable Duration timeLimit,
            @Nullable Limit limit) {}
}
