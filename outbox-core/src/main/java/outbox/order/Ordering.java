package outbox.order;

import outbox.EventEnvelope;
import outbox.EventType;

import java.util.Collection;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Which events are delivered in order. An ordered event is not started before the ordered events of the same aggregate, that is (aggregate type, aggregate id), that were written
 * earlier are terminal. Events without an aggregate id have no order. All nodes of an outbox must use the same ordering. Immutable.
 *
 * <p>Earlier means a smaller number from the database, taken by the insert. It is the order of commits if the transactions of one aggregate are serialised, as they are by
 * changing its row before writing the event.
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

    /** All events of an aggregate, in order; a dead one blocks its aggregate. */
    public static Ordering perAggregate() {
        return PER_AGGREGATE;
    }

    /** The same, for events of these types only: the others neither wait nor make others wait. */
    public Ordering onlyTypes(EventType... eventTypes) {
        return with(Types.ONLY, names(eventTypes));
    }

    /** The same, for events of these types only: the others neither wait nor make others wait. */
    public Ordering onlyTypes(Collection<String> eventTypes) {
        return with(Types.ONLY, Set.copyOf(eventTypes));
    }

    /** The same, apart from events of these types, which neither wait nor make others wait. */
    public Ordering exceptTypes(EventType... eventTypes) {
        return with(Types.EXCEPT, names(eventTypes));
    }

    /** The same, apart from events of these types, which neither wait nor make others wait. */
    public Ordering exceptTypes(Collection<String> eventTypes) {
        return with(Types.EXCEPT, Set.copyOf(eventTypes));
    }

    /** The same with another policy for dead events; default {@link WhenDead#BLOCK}. */
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

    /** Whether the event has a place in the order of its aggregate. */
    public boolean appliesTo(EventEnvelope event) {
        return event.aggregateId() != null && isOn() && appliesTo(event.eventType());
    }

    private boolean appliesTo(String eventType) {
        return which == Types.ALL || types.contains(eventType) == (which == Types.ONLY);
    }

    public WhenDead whenDead() {
        return whenDead;
    }

    /** The types that were named; empty if the ordering is for all types or off. */
    public Set<String> types() {
        return types;
    }

    /** Whether {@link #types} are the ones that are not ordered, instead of the only ones that are. */
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
}
