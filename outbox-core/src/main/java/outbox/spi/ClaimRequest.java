package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.Experimental;
import outbox.order.Ordering;

import java.time.Duration;
import java.time.Instant;
import java.util.Set;

/**
 * Which events a claim takes, and how much of them it reads. {@link #of} takes all due events and reads them
 * completely; the other methods return a copy with one more condition.
 *
 * @param now the time of the database; events that are due later are not taken
 * @param lockExpiry a lease that began before this time has expired
 * @param skipRecent events that were stored less than this time ago are not taken
 * @param limit the maximum number of events
 * @param ordering which events are taken in their order: only those without an unfinished predecessor, and without a
 * dead predecessor if dead events block their aggregate. This avoids useless claims; {@link EventOrder#positions}
 * decides whether an event may start. A store without {@link EventOrder} ignores it
 * @param withheld events that are not taken. A store that {@linkplain LeasingEventStore#canWithhold cannot withhold}
 * events ignores it
 * @param content how much of each event is read
 */
@Experimental
public record ClaimRequest(
        Instant now,
        Instant lockExpiry,
        Duration skipRecent,
        int limit,
        Ordering ordering,
        Withheld withheld,
        Content content) {

    /** How much of each event a claim reads. A store may always read more. */
    public enum Content {
        /** Everything. */
        ALL,
        /** Most events completely. Large content stays in the table, see {@link LeasingEventStore#load}. */
        SMALL,
        /** Only the id. */
        IDS
    }

    /** Returns a request for due events, without regard to their order, with all of their content. */
    public static ClaimRequest of(Instant now, Instant lockExpiry, int limit) {
        return new ClaimRequest(now, lockExpiry, Duration.ZERO, limit, Ordering.off(), Withheld.NOTHING, Content.ALL);
    }

    public ClaimRequest skippingRecent(Duration age) {
        return new ClaimRequest(now, lockExpiry, age, limit, ordering, withheld, content);
    }

    public ClaimRequest inOrder(Ordering order) {
        return new ClaimRequest(now, lockExpiry, skipRecent, limit, order, withheld, content);
    }

    public ClaimRequest except(Withheld events) {
        return new ClaimRequest(now, lockExpiry, skipRecent, limit, ordering, events, content);
    }

    public ClaimRequest reading(Content part) {
        return new ClaimRequest(now, lockExpiry, skipRecent, limit, ordering, withheld, part);
    }

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
}
