package outbox.payload;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.internal.EventRules;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * Maps event types to the Java types of their payloads, in the current version and in older ones, and converts older
 * versions to the current one.
 *
 * <pre>{@code
 * PayloadTypes types = PayloadTypes.builder(codec)
 *         .type("OrderPlaced", 2, OrderPlaced.class)
 *         .upcast("OrderPlaced", 1, OrderPlacedV1.class, old -> new OrderPlaced(old.id(), "EUR"))
 *         .build();
 * writer.write(types.event("OrderPlaced", order).aggregateId("7").build()); // version 2
 * registry.register("OrderPlaced", types.listener(
 *         "OrderPlaced", OrderPlaced.class, (order, event) -> …)); // receives version 1 too
 * }</pre>
 *
 * <p>Thread-safe.
 */
public final class PayloadTypes {

    private static final Duration LOOK_AGAIN = Duration.ofSeconds(30);

    private final PayloadCodec codec;
    private final Map<String, PayloadVersions> byEventType;
    private final Duration newerLimit;
    private final NewerEvents newerEvents;

    private PayloadTypes(Builder builder) {
        codec = builder.codec;
        Map<String, PayloadVersions> all = new HashMap<>();
        builder.byEventType.forEach(
                (type, versions) -> all.put(type, versions.copy().checked()));
        byEventType = Map.copyOf(all);
        newerLimit = builder.newerLimit;
        newerEvents = new NewerEvents(newerLimit, builder.nanoClock);
    }

    public static Builder builder(PayloadCodec codec) {
        return new Builder(codec);
    }

    /**
     * Returns a builder for an event with the value as its payload, in the current version.
     *
     * @throws IllegalArgumentException if the event type is not known, or the value is not of its type
     */
    public EventEnvelope.Builder event(String eventType, Object payload) {
        PayloadVersions versions = versionsOf(eventType);
        if (!versions.currentType().isInstance(payload)) {
            throw new IllegalArgumentException("The payload of event type " + EventRules.show(eventType) + " is a "
                    + versions.currentType().getName() + ", not a "
                    + payload.getClass().getName());
        }
        return EventEnvelope.builder(eventType)
                .schemaVersion(versions.current())
                .payloadJson(codec.write(payload));
    }

    /**
     * Returns a listener that receives payloads in their current version.
     *
     * <p>A payload with an invalid format makes its event DEAD immediately, because no further attempt could
     * succeed. A payload of a version that this node does not know yet is left for a node that does. Its event
     * is retried every 30 s, without counting attempts, until {@link Builder#newerLimit} is reached; then it
     * becomes DEAD.
     *
     * @throws IllegalArgumentException if the event type is not known, or its payload is of another type
     */
    public <T> EventListener listener(String eventType, Class<T> type, TypedEventListener<? super T> listener) {
        Objects.requireNonNull(listener, "listener");
        PayloadVersions versions = versionsOf(eventType);
        if (!type.isAssignableFrom(versions.currentType())) {
            throw new IllegalArgumentException("The payload of event type " + EventRules.show(eventType) + " is a "
                    + versions.currentType().getName() + ", not a " + type.getName());
        }
        return event -> listener.onEvent(type.cast(readToDeliver(event)), event);
    }

    /**
     * Returns the payload of an event that is being delivered, in the current version. Its exceptions are meant for
     * the dispatcher, see {@link #listener}.
     *
     * @throws IllegalArgumentException if the event type is not known, or its payload is of another type
     */
    public <T> T receive(EventEnvelope event, Class<T> type) {
        return cast(event, readToDeliver(event), type);
    }

    /**
     * Returns the Java type of the payload of an event type in its current version; empty if the event type is
     * not known.
     */
    public Optional<Class<?>> typeOf(String eventType) {
        return Optional.ofNullable(byEventType.get(eventType)).map(PayloadVersions::currentType);
    }

    /**
     * Returns the payload of an event, in the current version.
     *
     * @throws PayloadException if the payload has an invalid format or an unknown version
     */
    public <T> T read(EventEnvelope event, Class<T> type) {
        return cast(event, versionsOf(event.eventType()).read(codec, event.payloadJson(), event.schemaVersion()), type);
    }

    private static <T> T cast(EventEnvelope event, Object value, Class<T> type) {
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException("The payload of event type " + EventRules.show(event.eventType())
                    + " is a " + value.getClass().getName() + ", not a " + type.getName());
        }
        return type.cast(value);
    }

    private Object readToDeliver(EventEnvelope event) {
        PayloadVersions versions = versionsOf(event.eventType());
        int version = event.schemaVersion();
        if (version > versions.current()) {
            throw newer(event, version, versions.current());
        }
        try {
            return versions.read(codec, event.payloadJson(), version);
        } catch (PayloadException e) {
            throw new GiveUpException(
                    "The payload of event " + event.eventId() + " (type " + EventRules.show(event.eventType())
                            + ", version " + version + ") cannot be read: " + e.getMessage(),
                    e);
        }
    }

    private RuntimeException newer(EventEnvelope event, int version, int current) {
        String what = "Event " + event.eventId() + " (type " + EventRules.show(event.eventType()) + ") has version "
                + version + " of its payload, and this node knows " + current;
        return newerEvents.hasWaitedTooLong(event)
                ? new GiveUpException(
                        what + ". No newer node has taken it within " + newerLimit + ". Deploy one, then replay it.")
                : new RetryLaterException(LOOK_AGAIN, what + "; it is left for a newer node");
    }

    private PayloadVersions versionsOf(String eventType) {
        PayloadVersions versions = byEventType.get(eventType);
        if (versions == null) {
            throw new IllegalArgumentException(
                    "No payload type is registered for event type " + EventRules.show(eventType));
        }
        return versions;
    }

    /** Builds the types; every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofDays(365);

        private final PayloadCodec codec;
        private final Map<String, PayloadVersions> byEventType = new HashMap<>();
        private Duration newerLimit = Duration.ofHours(1);
        private LongSupplier nanoClock = System::nanoTime;

        private Builder(PayloadCodec codec) {
            this.codec = Objects.requireNonNull(codec, "codec");
        }

        /** Sets the Java type of an event type that has only one version. */
        public Builder type(String eventType, Class<?> type) {
            return type(eventType, 1, type);
        }

        /** Sets the Java type of the current version. */
        public Builder type(String eventType, int version, Class<?> type) {
            return add(eventType, version, type, null);
        }

        /**
         * Sets the Java type of an older version and the function that converts it to the next version. If the
         * function throws, the attempt fails.
         */
        public <T> Builder upcast(String eventType, int version, Class<T> type, Function<? super T, ?> upcaster) {
            Objects.requireNonNull(upcaster, "upcaster");
            return add(eventType, version, type, value -> upcaster.apply(type.cast(value)));
        }

        private Builder add(String eventType, int version, Class<?> type, @Nullable Function<Object, ?> upcaster) {
            Objects.requireNonNull(type, "type");
            byEventType
                    .computeIfAbsent(Objects.requireNonNull(eventType, "eventType"), PayloadVersions::new)
                    .add(version, type, upcaster);
            return this;
        }

        /**
         * Sets how long an event may wait for a node that knows its version, measured from its first delivery to
         * this node. Default: one hour. A replay or a restart of this node restarts the time. While 10,000 events
         * wait, the time of further events does not start until others have ended.
         */
        public Builder newerLimit(Duration newerLimit) {
            if (newerLimit.isNegative() || newerLimit.isZero() || newerLimit.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException("newerLimit must be positive and at most a year: " + newerLimit);
            }
            this.newerLimit = newerLimit;
            return this;
        }

        Builder nanoClock(LongSupplier nanoClock) {
            this.nanoClock = nanoClock;
            return this;
        }

        /**
         * Builds the types.
         *
         * @throws IllegalArgumentException if the versions of an event type have a gap, or no current one
         */
        public PayloadTypes build() {
            return new PayloadTypes(this);
        }
    }
}
