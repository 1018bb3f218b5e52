package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryRules;
import outbox.spring.OutboxListeners.Entry;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** The options that listeners define, by listener name. Listeners that share a name must define the same options. */
final class ListenerOptions {

    private final List<Entry> entries;

    ListenerOptions(List<Entry> entries) {
        this.entries = entries;
    }

    RetryRules addTo(RetryRules rules) {
        RetryRules.Builder builder = rules.toBuilder();
        forEach("a retry rule", Entry::retry, builder::listener);
        return builder.build();
    }

    Protection addTo(Protection protection, Map<String, CircuitBreaker> breakers) {
        Protection.Builder builder = protection.toBuilder();
        breakers.forEach(builder::breakerForListener);
        forEach("a limit", Entry::limit, builder::limitListener);
        return builder.build();
    }

    Map<String, Duration> timeLimits() {
        Map<String, Duration> limits = new LinkedHashMap<>();
        forEach("a time limit", Entry::timeLimit, limits::put);
        return limits;
    }

    private <T> void forEach(String what, Function<Entry, @Nullable T> option, BiConsumer<String, T> taker) {
        Map<String, Entry> first = new LinkedHashMap<>();
        for (Entry entry : entries) {
            String name = entry.listenerName();
            Entry known = first.putIfAbsent(name, entry);
            T value = option.apply(entry);
            if (known != null) {
                T other = option.apply(known);
                if (value == null ? other != null : !value.equals(other)) {
                    throw new IllegalStateException("Listener " + name + " is " + known.origin() + " and "
                            + entry.origin() + ", which do not have the same " + what.substring(2)
                            + ". Give them different names.");
                }
            } else if (value != null) {
                give(what, entry, () -> taker.accept(name, value));
            }
        }
    }

    private static void give(String what, Entry entry, Runnable step) {
        try {
            step.run();
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(
                    entry.origin() + " has " + what + " of its own, and so has its name " + entry.listenerName()
                            + " among those of the application. Remove one of the two.",
                    e);
        }
    }
}
