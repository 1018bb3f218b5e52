package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.Checks;
import outbox.internal.EventRules;
import outbox.model.EventStatus;
import outbox.spi.Claim;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Selects events. An event must match all given conditions. Immutable.
 *
 * <p>Only {@link #all()} creates a filter without conditions, so that a forgotten condition never selects
 * all events.
 */
public final class EventFilter {

    /** The maximum number of ids in a filter. */
    public static final int MAX_IDS = 1000;

    /** The maximum length of the text for {@link #errorContains}. */
    public static final int MAX_ERROR_LENGTH = 80;

    private static final EventFilter ALL = new EventFilter(new Builder());

    private final Set<String> eventIds;
    private final Set<EventStatus> statuses;
    private final @Nullable String eventType;
    private final @Nullable String aggregateType;
    private final @Nullable String aggregateId;
    private final @Nullable Instant createdFrom;
    private final @Nullable Instant createdBefore;
    private final boolean inOrder;
    private final @Nullable String dedupKey;
    private final @Nullable String errorContains;
    private final @Nullable String tenantId;
    private final @Nullable Instant dueBefore;
    private final @Nullable String claimedBy;
    private final @Nullable Instant claimedBefore;
    private final @Nullable Instant endedBefore;

    private EventFilter(Builder builder) {
        eventIds = Set.copyOf(builder.eventIds);
        statuses = Set.copyOf(builder.statuses);
        eventType = builder.eventType;
        aggregateType = builder.aggregateType;
        aggregateId = builder.aggregateId;
        createdFrom = builder.createdFrom;
        createdBefore = builder.createdBefore;
        inOrder = builder.inOrder;
        dedupKey = builder.dedupKey;
        errorContains = builder.errorContains;
        tenantId = builder.tenantId;
        dueBefore = builder.dueBefore;
        claimedBy = builder.claimedBy;
        claimedBefore = builder.claimedBefore;
        endedBefore = builder.endedBefore;
    }

    /** Matches every event. */
    public static EventFilter all() {
        return ALL;
    }

    /** Matches the events with these ids, 1 to {@value #MAX_IDS}. */
    public static EventFilter ids(Collection<String> eventIds) {
        return builder().eventIds(eventIds).build();
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Empty if events are not selected by id. */
    public Set<String> eventIds() {
        return eventIds;
    }

    /** Empty if events are not selected by status. */
    public Set<EventStatus> statuses() {
        return statuses;
    }

    public @Nullable String eventType() {
        return eventType;
    }

    public @Nullable String aggregateType() {
        return aggregateType;
    }

    public @Nullable String aggregateId() {
        return aggregateId;
    }

    public @Nullable String dedupKey() {
        return dedupKey;
    }

    /** A text that the last error contains. */
    public @Nullable String errorContains() {
        return errorContains;
    }

    /** The start of the range of storage times, inclusive. */
    public @Nullable Instant createdFrom() {
        return createdFrom;
    }

    /** The end of the range of storage times, exclusive. */
    public @Nullable Instant createdBefore() {
        return createdBefore;
    }

    public @Nullable String tenantId() {
        return tenantId;
    }

    /** The end of the range of due times, exclusive. */
    public @Nullable Instant dueBefore() {
        return dueBefore;
    }

    /** The node whose claims hold the events: the start of their tokens, up to a slash. */
    public @Nullable String claimedBy() {
        return claimedBy;
    }

    /** The end of the range of times at which the lease began or was last renewed, exclusive. */
    public @Nullable Instant claimedBefore() {
        return claimedBefore;
    }

    /**
     * The end of the range of times at which an event became DONE or DEAD, exclusive. An event without such a
     * time matches.
     */
    public @Nullable Instant endedBefore() {
        return endedBefore;
    }

    /**
     * Whether only events match that have a position in the order of an aggregate. Used only with an
     * {@link outbox.spi.EventOrder}.
     */
    public boolean isInOrder() {
        return inOrder;
    }

    /** Returns a copy that matches only dead events. */
    EventFilter dead() {
        Builder builder = copy();
        builder.statuses = EnumSet.of(EventStatus.DEAD);
        return new EventFilter(builder);
    }

    /** Returns a copy that matches only events that ended before the given time. */
    EventFilter endedBefore(Instant time) {
        Builder builder = copy();
        builder.endedBefore = time;
        return new EventFilter(builder);
    }

    /** Returns a copy that matches only unfinished events. */
    EventFilter unfinished() {
        Builder builder = copy();
        builder.statuses = EnumSet.of(EventStatus.NEW, EventStatus.RETRY);
        return new EventFilter(builder);
    }

    /** Returns a copy that matches only events with a position in the order of an aggregate. */
    EventFilter inOrder() {
        Builder builder = copy();
        builder.inOrder = true;
        return new EventFilter(builder);
    }

    private Builder copy() {
        Builder builder = new Builder();
        builder.eventIds = eventIds;
        builder.statuses = statuses;
        builder.eventType = eventType;
        builder.aggregateType = aggregateType;
        builder.aggregateId = aggregateId;
        builder.createdFrom = createdFrom;
        builder.createdBefore = createdBefore;
        builder.inOrder = inOrder;
        builder.dedupKey = dedupKey;
        builder.errorContains = errorContains;
        builder.tenantId = tenantId;
        builder.dueBefore = dueBefore;
        builder.claimedBy = claimedBy;
        builder.claimedBefore = claimedBefore;
        builder.endedBefore = endedBefore;
        return builder;
    }

    /**
     * Describes the filter in words, such as {@code DEAD events of type 'order.placed' created from
     * 2026-01-01T00:00:00Z}. Equal filters have equal descriptions.
     */
    @Override
    public String toString() {
        String which = statuses.isEmpty() ? "all" : join(statuses.stream().sorted(), " or ");
        List<String> others = conditions();
        others.remove(which);
        return which + " events" + (others.isEmpty() ? "" : " " + String.join(" ", others));
    }

    private List<String> conditions() {
        List<String> words = new ArrayList<>();
        if (!statuses.isEmpty()) {
            words.add(join(statuses.stream().sorted(), " or "));
        }
        if (eventType != null) {
            words.add("of type " + EventRules.show(eventType));
        }
        if (aggregateType != null) {
            words.add("of aggregate type " + EventRules.show(aggregateType));
        }
        if (aggregateId != null) {
            words.add("of aggregate " + EventRules.show(aggregateId));
        }
        if (tenantId != null) {
            words.add("of tenant " + EventRules.show(tenantId));
        }
        if (dedupKey != null) {
            words.add("with key " + EventRules.show(dedupKey));
        }
        if (errorContains != null) {
            words.add("with an error that contains " + EventRules.show(errorContains));
        }
        if (createdFrom != null) {
            words.add("created from " + createdFrom);
        }
        if (createdBefore != null) {
            words.add("created before " + createdBefore);
        }
        if (dueBefore != null) {
            words.add("due before " + dueBefore);
        }
        if (claimedBy != null) {
            words.add("claimed by " + EventRules.show(claimedBy));
        }
        if (claimedBefore != null) {
            words.add("claimed before " + claimedBefore);
        }
        if (endedBefore != null) {
            words.add("ended before " + endedBefore);
        }
        if (inOrder) {
            words.add("in the order of an aggregate");
        }
        if (!eventIds.isEmpty()) {
            words.add("with " + eventIds.size() + " ids: "
                    + join(eventIds.stream().sorted().map(EventRules::show), ", "));
        }
        return words;
    }

    private static String join(Stream<?> parts, String between) {
        return parts.map(Object::toString).collect(Collectors.joining(between));
    }

    /** Builds a filter; every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private Set<String> eventIds = new LinkedHashSet<>();
        private Set<EventStatus> statuses = EnumSet.noneOf(EventStatus.class);
        private @Nullable String eventType;
        private @Nullable String aggregateType;
        private @Nullable String aggregateId;
        private @Nullable Instant createdFrom;
        private @Nullable Instant createdBefore;
        private boolean inOrder;
        private @Nullable String dedupKey;
        private @Nullable String errorContains;
        private @Nullable String tenantId;
        private @Nullable Instant dueBefore;
        private @Nullable String claimedBy;
        private @Nullable Instant claimedBefore;
        private @Nullable Instant endedBefore;

        private Builder() {}

        public Builder eventId(String eventId) {
            return eventIds(List.of(eventId));
        }

        /** Matches any of these ids, 1 to {@value EventFilter#MAX_IDS}. */
        public Builder eventIds(Collection<String> eventIds) {
            Set<String> ids = new LinkedHashSet<>(eventIds);
            Checks.range("number of eventIds", ids.size(), 1, MAX_IDS);
            ids.forEach(id -> EventRules.checkName("eventId", id, EventEnvelope.MAX_EVENT_ID_LENGTH));
            this.eventIds = ids;
            return this;
        }

        /** Matches any of these statuses. */
        public Builder status(EventStatus first, EventStatus... more) {
            this.statuses = EnumSet.of(first, more);
            return this;
        }

        public Builder eventType(String eventType) {
            this.eventType = EventRules.checkName("eventType", eventType, EventEnvelope.MAX_EVENT_TYPE_LENGTH);
            return this;
        }

        public Builder aggregateType(String aggregateType) {
            this.aggregateType =
                    EventRules.checkName("aggregateType", aggregateType, EventEnvelope.MAX_AGGREGATE_TYPE_LENGTH);
            return this;
        }

        public Builder aggregateId(String aggregateId) {
            this.aggregateId = EventRules.checkName("aggregateId", aggregateId, EventEnvelope.MAX_AGGREGATE_ID_LENGTH);
            return this;
        }

        public Builder tenantId(String tenantId) {
            this.tenantId = EventRules.checkName("tenantId", tenantId, EventEnvelope.MAX_TENANT_ID_LENGTH);
            return this;
        }

        /**
         * Matches events due before this time of the database clock, in microseconds. Add statuses NEW and RETRY to
         * select only events that are still waiting.
         */
        public Builder dueBefore(Instant dueBefore) {
            this.dueBefore = Checks.time("dueBefore", dueBefore);
            return this;
        }

        /**
         * Matches events claimed by this node: its name, or the start of its tokens up to a slash. The table must
         * store tokens.
         */
        public Builder claimedBy(String node) {
            this.claimedBy = Checks.text("claimedBy", node, Claim.MAX_TOKEN_LENGTH);
            return this;
        }

        /**
         * Matches events whose claim began or was last renewed before this time of the database clock,
         * in microseconds.
         */
        public Builder claimedBefore(Instant claimedBefore) {
            this.claimedBefore = Checks.time("claimedBefore", claimedBefore);
            return this;
        }

        /** Matches events written with this key, whether they still have it or not. The table must store keys. */
        public Builder dedupKey(String dedupKey) {
            this.dedupKey = EventRules.checkDedupKey(dedupKey);
            return this;
        }

        /**
         * Matches events whose last error contains this text of at most {@value EventFilter#MAX_ERROR_LENGTH}
         * characters. Reads every event that matches the other conditions.
         */
        public Builder errorContains(String text) {
            this.errorContains = Checks.text("errorContains", text, MAX_ERROR_LENGTH);
            return this;
        }

        /** Matches events stored at or after this time of the database clock, in microseconds. */
        public Builder createdFrom(Instant createdFrom) {
            this.createdFrom = Checks.time("createdFrom", createdFrom);
            return this;
        }

        /** Matches events stored before this time of the database clock, in microseconds. */
        public Builder createdBefore(Instant createdBefore) {
            this.createdBefore = Checks.time("createdBefore", createdBefore);
            return this;
        }

        public EventFilter build() {
            if (createdFrom != null && createdBefore != null && !createdFrom.isBefore(createdBefore)) {
                throw new IllegalArgumentException(
                        "createdFrom " + createdFrom + " must be earlier than createdBefore " + createdBefore);
            }
            EventFilter filter = new EventFilter(this);
            if (filter.conditions().isEmpty()) {
                throw new IllegalArgumentException(
                        "The filter has no condition; use EventFilter.all() if all events are meant");
            }
            return filter;
        }
    }
}
