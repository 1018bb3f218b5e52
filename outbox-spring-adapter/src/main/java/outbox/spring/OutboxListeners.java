package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.Protection.Limit;
import outbox.dispatch.RetryRules;
import outbox.dispatch.RetryRules.Rule;
import outbox.registry.ListenerRegistry;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The listeners of one outbox and the origin of each. An event goes to the listener that names its aggregate type
 * and event type exactly, else to a listener with a matching pattern. In patterns, {@code *} matches any sequence of
 * characters, including none. If several patterns match, an event type without {@code *} comes first, then the event
 * type with more other characters. If the event types are equal in this order, the aggregate types are compared in
 * the same way. Two listeners that match a common event and are equal in this order are refused, and so is a second
 * listener for the same events.
 *
 * <p>All listeners must be added before {@link #configure} is called. Thread-safe.
 */
public final class OutboxListeners implements ListenerRegistry {

    private volatile Routes routes = Routes.NONE; // written under the lock of this, read by any thread
    private final Map<String, CircuitBreaker> breakers = new LinkedHashMap<>(); // by listener name; guarded by this
    private boolean configured; // guarded by this

    /**
     * Adds a listener.
     *
     * @throws IllegalStateException if the same events already have a listener, or {@link #configure}
     *     was already called
     */
    public synchronized OutboxListeners add(Entry entry) {
        if (configured) {
            throw new IllegalStateException("The listener of " + entry.origin()
                    + " comes too late: the dispatcher of its outbox is built already");
        }
        routes = routes.with(entry);
        return this;
    }

    /**
     * Adds a circuit breaker for the listener with this name, in addition to the breakers of the application.
     * Transports use it, because they know when their destination is down.
     */
    public synchronized OutboxListeners guard(String listener, CircuitBreaker breaker) {
        breakers.put(listener, breaker);
        return this;
    }

    /** Returns all entries in the order in which they were added. */
    public List<Entry> entries() {
        return routes.entries();
    }

    @Override
    public @Nullable EventListener listenerFor(String aggregateType, String eventType) {
        Entry entry = routes.find(aggregateType, eventType);
        return entry == null ? null : entry.listener();
    }

    /** Returns the routes that have a listener, or empty if at least one entry is a pattern. */
    @Override
    public Optional<Set<String>> routes() {
        return routes.pairs();
    }

    /**
     * Passes these listeners and their settings to the builder of a dispatcher. After this call, no listener
     * can be added.
     *
     * @param rules the retry rules of the application. The rules of the listeners are added to them. A rule for a
     *     listener that defines its own rule is refused
     * @param protection the protection of the application. The limits of the listeners are added to it. A limit for
     *     a listener that defines its own limit is refused
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
     * A listener with its own settings. A setting that is null is taken from the outbox. Error messages contain the
     * origin, for example a method or a property. A listener with settings and a {@code *} in its route needs a
     * {@linkplain EventListener#listenerName name}, because the settings cannot be stored under a route.
     */
    public record Entry(
            String aggregateType,
            String eventType,
            EventListener listener,
            String origin,
            @Nullable Rule retry,
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

        /** A listener without settings of its own. */
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

        /** Returns the name of the listener in rules and limits. */
        String listenerName() {
            String own = listener.listenerName();
            return own == null ? aggregateType + ":" + eventType : own;
        }
    }
}
