package outbox.order;

import outbox.EventEnvelope;
import outbox.EventType;

import java.util.Collection;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Determines which events are delivered in order. An ordered event starts only after all ordered events that were
 * written earlier for the same aggregate, that is (aggregate type, aggregate id), are terminal. Events without an
 * aggregate id have no order. All nodes of an outbox must use the same ordering. Immutable.
 *
 * <p>Earlier means a smaller number, which the database assigns during the insert. This is the commit order if the
 * transactions of one aggregate are serialized, for example because each changes the row of the aggregate before it
 * writes the event.
 */
public final class Ordering {

    private enum Types {
        NONE,
        ALL,
        ONLY,
        EXCEPT
    }

    private static final Ordering OFF = new Ordering(Types.NONE, Set.of(), WhenDead.BLOCK);
    private static final Ordering PER_AGGREGATE = new Ordering(Types.ALL, Set.of(), WhenDead.BLOCK);

    private final Types which;
    private final Set<String> types;
    private final WhenDead whenDead;

    private Ordering(Types which, Set<String> types, WhenDead whenDead) {
        this.which = which;
        this.types = types;
        this.whenDead = whenDead;
    }

    /** No order. */
    public static Ordering off() {
        return OFF;
    }

    /** Delivers all events of an aggregate in order; a dead event blocks its aggregate. */
    public static Ordering perAggregate() {
        return PER_AGGREGATE;
    }

    /** Returns a copy for events of these types only. Other events neither wait nor block others. */
    public Ordering onlyTypes(EventType... eventTypes) {
        return with(Types.ONLY, names(eventTypes));
    }

    /** Returns a copy for events of these types only. Other events neither wait nor block others. */
    public Ordering onlyTypes(Collection<String> eventTypes) {
        return with(Types.ONLY, Set.copyOf(eventTypes));
    }

    /** Returns a copy that excludes events of these types. Excluded events neither wait nor block others. */
    public Ordering exceptTypes(EventType... eventTypes) {
        return with(Types.EXCEPT, names(eventTypes));
    }

    /** Returns a copy that excludes events of these types. Excluded events neither wait nor block others. */
    public Ordering exceptTypes(Collection<String> eventTypes) {
        return with(Types.EXCEPT, Set.copyOf(eventTypes));
    }

    /** Returns a copy with another policy for dead events; default {@link WhenDead#BLOCK}. */
    public Ordering whenDead(WhenDead policy) {
        requireOn();
        return new Ordering(which, types, Objects.requireNonNull(policy, "policy"));
    }

    private static Set<String> names(EventType... eventTypes) {
        return Stream.of(eventTypes).map(EventType::name).collect(Collectors.toUnmodifiableSet());
    }

    private Ordering with(Types choice, Set<String> names) {
        requireOn();
        if (which != Types.ALL) {
            throw new IllegalStateException("The types are chosen already: " + this);
        }
        if (names.isEmpty()) {
            throw new IllegalArgumentException("eventTypes must not be empty");
        }
        return new Ordering(choice, names, whenDead);
    }

    private void requireOn() {
        if (!isOn()) {
            throw new IllegalStateException("Ordering is off; start from Ordering.perAggregate()");
        }
    }

    public boolean isOn() {
        return which != Types.NONE;
    }

    /** Whether the event has a position in the order of its aggregate. */
    public boolean appliesTo(EventEnvelope event) {
        return event.aggregateId() != null && isOn() && appliesTo(event.eventType());
    }

    private boolean appliesTo(String eventType) {
        return which == Types.ALL || types.contains(eventType) == (which == Types.ONLY);
    }

    public WhenDead whenDead() {
        return whenDead;
    }

    /** The event types that were given; empty if the ordering applies to all types or is off. */
    public Set<String> types() {
        return types;
    }

    /** Whether {@link #types} are excluded from the order; otherwise they are the only ordered types. */
    public boolean typesAreExceptions() {
        return which == Types.EXCEPT;
    }

    @Override
    public String toString() {
        return switch (which) {
            case NONE -> "off";
            case ALL -> "per aggregate, " + whenDead;
            case ONLY -> "per aggregate, only " + types + ", " + whenDead;
            case EXCEPT -> "per aggregate, except " + types + ", " + whenDead;
        };
    }

    /** What happens to an aggregate when one of its events becomes DEAD. */
    public enum WhenDead {
        /** Later events of the aggregate wait until the dead one is replayed, skipped or discarded. */
        BLOCK,
        /** Later events continue. The dead event stays in the table for an operator. */
        SKIP,
        /**
         * Later events are parked with it: they become DEAD too, with that reason, and are replayed together in order.
         */
        PARK
    }
}
