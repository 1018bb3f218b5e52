package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.Limit;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryRule;
import outbox.dispatch.RetryRules;
import outbox.registry.ListenerRegistry;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The listeners of one outbox and where each comes from. An event goes to the listener that names its aggregate type and type, else to the one whose pattern fits: in patterns {@code *}
 * stands for any run of characters, none included. Of several patterns that fit, a type without {@code *} comes first, then the type with more other characters; if they are equal in that,
 * the same is asked of the aggregate type. Listeners between which that cannot decide are refused, and so is a second listener for the same events.
 *
 * <p>Listeners are added before {@link #configure}. Thread-safe.
 */
public final class OutboxListeners implements ListenerRegistry {

    private volatile Routes routes = Routes.NONE; // written under the lock
    private final Map<String, CircuitBreaker> breakers = new LinkedHashMap<>(); // guarded by this, as the next
    private boolean configured;

    /**
     * Adds a listener.
     *
     * @throws IllegalStateException if the same events have a listener already, or a dispatcher is built already
     */
    public synchronized OutboxListeners add(Entry entry) {
        if (configured) {
            throw new IllegalStateException("The listener of " + entry.origin()
                    + " comes too late: the dispatcher of its outbox is built already");
        }
        routes = routes.with(entry);
        return this;
    }

    /** Puts a breaker before the listener with this name, beside those of the application: for transports, which know when their destination is down. */
    public synchronized OutboxListeners guard(String listener, CircuitBreaker breaker) {
        breakers.put(listener, breaker);
        return this;
    }

    /** All that were added, in their order. */
    public List<Entry> entries() {
        return routes.entries();
    }

    @Override
    public @Nullable EventListener listenerFor(String aggregateType, String eventType) {
        Entry entry = routes.find(aggregateType, eventType);
        return entry == null ? null : entry.listener();
    }

    /** The pairs that have a listener; empty if there is a pattern among them. */
    @Override
    public Optional<Set<String>> routes() {
        return routes.pairs();
    }

    /**
     * Gives these listeners with their settings to a dispatcher that is being built. From now on no listener can be added.
     *
     * @param rules those of the application, to which the rules of listeners are added; one for the name of a listener that has its own is refused
     * @param protection that of the application, to which the limits of listeners are added on the same terms
     */
    public synchronized void configure(OutboxDispatcher.Builder dispatcher, RetryRules rules, Protection protection) {
        ListenerOptions options = new ListenerOptions(routes.entries());
        dispatcher
                .listenerRegistry(this)
                .retryRules(options.addTo(rules))
                .protection(options.addTo(protection, breakers))
                .interceptor(new CurrentAttempt());
        options.timeLimits().forEach(dispatcher::listenerTimeLimit);
        configured = true;
    }

    /**
     * A listener with the settings of its own; what is null is as the outbox has it. Its origin is what an error says: a method, a property. One that has settings and a {@code *} needs a
     * {@linkplain EventListener#listenerName name}, since it has no route to go by.
     */
    public record Entry(
            String aggregateType,
            String eventType,
            EventListener listener,
            String origin,
            @Nullable RetryRule retry,
            @Nullable Duration timeLimit,
            @Nullable Limit limit) {

        public Entry {
            Objects.requireNonNull(listener, "listener");
            Objects.requireNonNull(origin, "origin");
            check(origin, "aggregate type", aggregateType, EventEnvelope.MAX_AGGREGATE_TYPE_LENGTH);
            check(origin, "event type", eventType, EventEnvelope.MAX_EVENT_TYPE_LENGTH);
            boolean hasSettings = retry != null || timeLimit != null || limit != null;
            if (hasSettings && isPattern(aggregateType, eventType) && listener.listenerName() == null) {
                throw new IllegalArgumentException(origin + " has settings of its own and listens to a pattern, "
                        + aggregateType + ":" + eventType + ", so it needs a name");
            }
        }

        /** A listener that is treated as the outbox says. */
        public Entry(String aggregateType, String eventType, EventListener listener, String origin) {
            this(aggregateType, eventType, listener, origin, null, null, null);
        }

        private static void check(String origin, String what, String value, int longest) {
            if (value.isBlank() || value.length() > longest) {
                throw new IllegalArgumentException("The " + what + " of " + origin + " must have 1 to " + longest
                        + " characters: '" + value + "'");
            }
        }

        private static boolean isPattern(String aggregateType, String eventType) {
            return aggregateType.indexOf('*') >= 0 || eventType.indexOf('*') >= 0;
        }

        boolean isPattern() {
            return isPattern(aggregateType, eventType);
        }

        /** The name by which rules and limits know the listener. */
        String listenerName() {
            String own = listener.listenerName();
            return own == null ? aggregateType + ":" + eventType : own;
        }
    }
}
