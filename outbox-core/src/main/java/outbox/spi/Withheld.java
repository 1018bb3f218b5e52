package outbox.spi;

import java.util.Set;

/**
 * Events that must not be claimed now, because what would receive them is paused, down or busy. An event is withheld if it is in any of the sets.
 *
 * @param types event types
 * @param routes pairs written as {@code aggregateType:eventType}
 * @param tenants tenant ids
 */
public record Withheld(Set<String> types, Set<String> routes, Set<String> tenants) {

    /** Everything may be claimed. */
    public static final Withheld NOTHING = new Withheld(Set.of(), Set.of(), Set.of());

    public Withheld {
        types = Set.copyOf(types);
        routes = Set.copyOf(routes);
        tenants = Set.copyOf(tenants);
    }

    public boolean isNothing() {
        return types.isEmpty() && routes.isEmpty() && tenants.isEmpty();
    }
}
