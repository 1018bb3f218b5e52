package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;

import java.util.Collection;
import java.util.Objects;
import java.util.Set;

/** Selects dead letters. A letter matches if it meets all conditions. Immutable. */
public final class DeadLetterFilter {

    private static final DeadLetterFilter ALL = new Builder().build();

    private final Set<String> eventIds;
    private final @Nullable String eventType;
    private final @Nullable String queue;
    private final @Nullable String reason;

    private DeadLetterFilter(Builder builder) {
        eventIds = builder.eventIds;
        eventType = builder.eventType;
        queue = builder.queue;
        reason = builder.reason;
    }

    /** Returns a filter that matches all dead letters. */
    public static DeadLetterFilter all() {
        return ALL;
    }

    public static Builder builder() {
        return new Builder();
    }

    boolean matches(DeadLetter letter) {
        return (eventIds.isEmpty() || letter.eventId() != null && eventIds.contains(letter.eventId()))
                && (eventType == null || eventType.equals(letter.eventType()))
                && (queue == null || queue.equals(letter.queue()))
                && (reason == null || letter.reason().contains(reason));
    }

    /** Builds a filter. Not thread-safe. */
    public static final class Builder {

        private Set<String> eventIds = Set.of();
        private @Nullable String eventType;
        private @Nullable String queue;
        private @Nullable String reason;

        private Builder() {}

        /** Matches events with one of these ids. At least one id is required. */
        public Builder eventIds(Collection<String> eventIds) {
            if (eventIds.isEmpty()) {
                throw new IllegalArgumentException("eventIds must not be empty");
            }
            this.eventIds = Set.copyOf(eventIds);
            return this;
        }

        public Builder eventType(String eventType) {
            this.eventType = Objects.requireNonNull(eventType, "eventType");
            return this;
        }

        /** Matches messages that came from this queue. */
        public Builder queue(String queue) {
            this.queue = Objects.requireNonNull(queue, "queue");
            return this;
        }

        /** Matches messages whose reason contains this text. */
        public Builder reason(String part) {
            this.reason = Objects.requireNonNull(part, "reason");
            return this;
        }

        public DeadLetterFilter build() {
            return new DeadLetterFilter(this);
        }
    }
}
