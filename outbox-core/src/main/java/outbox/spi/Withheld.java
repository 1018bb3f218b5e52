package outbox.spi;

import org.jspecify.annotations.Nullable;

import java.util.Set;

/**
 * Events that must not be claimed now because their receiver is paused, down, busy or missing. An event is withheld
 * if it is in one of the first three sets, or not in the last.
 *
 * @param types event types
 * @param routes pairs in the form {@code aggregateType:eventType}
 * @param tenants tenant ids
 * @param known the only pairs that may be claimed; null if all may be claimed
 */
public record Withheld(
        Set<String> types,
        Set<String> routes,
        Set<String> tenants,
        @Nullable Set<String> known) {

    /** Withholds no event. */
    public static final Withheld NOTHING = new Withheld(Set.of(), Set.of(), Set.of());

    public Withheld {
        types = Set.copyOf(types);
        routes = Set.copyOf(routes);
        tenants = Set.copyOf(tenants);
        known = known == null ? null : Set.copyOf(known);
    }

    public Withheld(Set<String> types, Set<String> routes, Set<String> tenants) {
        this(types, routes, tenants, null);
    }

    /** Returns a copy that also withholds all but the given pairs. */
    public Withheld butKnown(Set<String> pairs) {
        return new Withheld(types, routes, tenants, pairs);
    }

    public boolean isNothing() {
        return types.isEmpty() && routes.isEmpty() && tenants.isEmpty() && known == null;
    }
}
