package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.admin.Pause;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Circuit breakers and limits that protect destinations, per event type, listener or tenant. An event starts only
 * when all breakers and limits that apply to it allow it. A waiting event holds no worker. A few events wait in
 * memory, the others in the table. Immutable.
 *
 * <p>A listener is identified by its name: {@link outbox.EventListener#listenerName}, or
 * {@code aggregateType:eventType}. A limit applies to one dispatcher.
 */
public final class Protection {

    private static final Protection NONE = builder().build();

    private final Map<String, List<CircuitBreaker>> breakersByType;
    private final Map<String, List<CircuitBreaker>> breakersByListener;
    private final Map<String, Limit> limitsByType;
    private final Map<String, Limit> limitsByListener;
    private final Map<String, Limit> limitsByTenant;
    private final @Nullable Limit limitOfEachTenant;
    private final LongSupplier nanoTime;

    private Protection(Builder builder) {
        breakersByType = Map.copyOf(builder.breakersByType);
        breakersByListener = Map.copyOf(builder.breakersByListener);
        limitsByType = Map.copyOf(builder.limitsByType);
        limitsByListener = Map.copyOf(builder.limitsByListener);
        limitsByTenant = Map.copyOf(builder.limitsByTenant);
        limitOfEachTenant = builder.limitOfEachTenant;
        nanoTime = builder.nanoTime;
    }

    /** Returns a protection without breakers and limits. */
    public static Protection none() {
        return NONE;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that contains these breakers and limits. */
    public Builder toBuilder() {
        Builder builder = builder();
        builder.breakersByType.putAll(breakersByType);
        builder.breakersByListener.putAll(breakersByListener);
        builder.limitsByType.putAll(limitsByType);
        builder.limitsByListener.putAll(limitsByListener);
        builder.limitsByTenant.putAll(limitsByTenant);
        builder.limitOfEachTenant = limitOfEachTenant;
        builder.nanoTime = nanoTime;
        return builder;
    }

    boolean isNone() {
        return breakersByType.isEmpty()
                && breakersByListener.isEmpty()
                && limitsByType.isEmpty()
                && limitsByListener.isEmpty()
                && limitsByTenant.isEmpty()
                && limitOfEachTenant == null;
    }

    boolean needsListenerName() {
        return !breakersByListener.isEmpty() || !limitsByListener.isEmpty();
    }

    /**
     * Whether a breaker or limit applies to the event. The listener may be null if no breaker or limit
     * is per listener.
     */
    boolean appliesTo(EventEnvelope event, @Nullable String listener) {
        String type = event.eventType();
        String tenant = event.tenantId();
        return breakersByType.containsKey(type)
                || limitsByType.containsKey(type)
                || listener != null
                        && (breakersByListener.containsKey(listener) || limitsByListener.containsKey(listener))
                || tenant != null && limitOfTenant(tenant) != null;
    }

    /** Returns all breakers, each once. */
    Set<CircuitBreaker> breakers() {
        return Stream.of(breakersByType, breakersByListener)
                .flatMap(breakers -> breakers.values().stream())
                .flatMap(List::stream)
                .collect(Collectors.toSet());
    }

    List<CircuitBreaker> breakersOfType(String eventType) {
        return breakersByType.getOrDefault(eventType, List.of());
    }

    List<CircuitBreaker> breakersOfListener(String name) {
        return breakersByListener.getOrDefault(name, List.of());
    }

    @Nullable
    Limit limitOfType(String eventType) {
        return limitsByType.get(eventType);
    }

    @Nullable
    Limit limitOfListener(String name) {
        return limitsByListener.get(name);
    }

    @Nullable
    Limit limitOfTenant(String tenant) {
        Limit own = limitsByTenant.get(tenant);
        return own == null ? limitOfEachTenant : own;
    }

    LongSupplier nanoTime() {
        return nanoTime;
    }

    /** Collects breakers and limits. Throws on a second limit for the same type, listener or tenant. */
    public static final class Builder {

        private final Map<String, List<CircuitBreaker>> breakersByType = new HashMap<>();
        private final Map<String, List<CircuitBreaker>> breakersByListener = new HashMap<>();
        private final Map<String, Limit> limitsByType = new HashMap<>();
        private final Map<String, Limit> limitsByListener = new HashMap<>();
        private final Map<String, Limit> limitsByTenant = new HashMap<>();
        private @Nullable Limit limitOfEachTenant;
        private LongSupplier nanoTime = System::nanoTime;

        private Builder() {}

        /** Guards events of this type, for all aggregate types. */
        public Builder breakerForType(String eventType, CircuitBreaker breaker) {
            return guard(breakersByType, eventType, breaker);
        }

        /** Guards the listener with this name. */
        public Builder breakerForListener(String listener, CircuitBreaker breaker) {
            return guard(breakersByListener, listener, breaker);
        }

        /** Limits events of this type, for all aggregate types. */
        public Builder limitType(String eventType, Limit limit) {
            return limit(limitsByType, "event type", eventType, limit);
        }

        /** Limits the listener with this name. */
        public Builder limitListener(String listener, Limit limit) {
            return limit(limitsByListener, "listener", listener, limit);
        }

        /** Limits the events of this tenant. */
        public Builder limitTenant(String tenant, Limit limit) {
            return limit(limitsByTenant, "tenant", tenant, limit);
        }

        /** Limits the events of each tenant that has no limit of its own. Does not limit events without a tenant. */
        public Builder limitEachTenant(Limit limit) {
            if (limitOfEachTenant != null) {
                throw new IllegalArgumentException("There is a limit for each tenant already");
            }
            limitOfEachTenant = Objects.requireNonNull(limit, "limit");
            return this;
        }

        /** A monotonic clock in nanoseconds for the rates; default {@link System#nanoTime}. */
        public Builder clock(LongSupplier nanoTime) {
            this.nanoTime = Objects.requireNonNull(nanoTime, "nanoTime");
            return this;
        }

        private Builder guard(Map<String, List<CircuitBreaker>> guards, String key, CircuitBreaker breaker) {
            Objects.requireNonNull(breaker, "breaker");
            guards.merge(Names.require("name", key), List.of(breaker), Builder::both);
            return this;
        }

        private static List<CircuitBreaker> both(List<CircuitBreaker> some, List<CircuitBreaker> more) {
            List<CircuitBreaker> all = new ArrayList<>(some);
            more.stream().filter(one -> !all.contains(one)).forEach(all::add);
            return List.copyOf(all);
        }

        private Builder limit(Map<String, Limit> limits, String what, String key, Limit limit) {
            Objects.requireNonNull(limit, "limit");
            if (limits.putIfAbsent(Names.require(what, key), limit) != null) {
                throw new IllegalArgumentException("There is a limit for " + what + " " + key + " already");
            }
            return this;
        }

        public Protection build() {
            return new Protection(this);
        }
    }

    /**
     * The state of breakers, limits and pauses on one dispatcher.
     *
     * @param breakers the breakers that at least one event has needed so far
     * @param limits the limits that at least one event has needed so far; for tenants, only the busy ones
     * @param pauses the pauses of all nodes, as this node last read them
     */
    public record Status(List<Breaker> breakers, List<Place> limits, List<Pause> pauses) {

        /**
         * A circuit breaker.
         *
         * @param reason why it last opened; empty if it never did
         * @param waiting how many events wait for it in the memory of this node
         */
        public record Breaker(String name, CircuitBreaker.State state, String reason, int waiting) {}

        /**
         * A limit.
         *
         * @param name what is limited: {@code type}, {@code listener} or {@code tenant}, followed by its name
         * @param waiting how many events wait for it in the memory of this node
         * @param overflowing whether further events wait in the table and this node does not claim them for now
         */
        public record Place(String name, int running, int waiting, boolean overflowing) {}

        public Status {
            breakers = List.copyOf(breakers);
            limits = List.copyOf(limits);
            pauses = List.copyOf(pauses);
        }
    }

    /** How many events may run concurrently, and how many may start per period, on one dispatcher. Immutable. */
    public static final class Limit {

        private static final Duration LONGEST = Duration.ofDays(1);

        /** A rate as a token bucket: one token per event, filled evenly. */
        record Rate(int events, Duration per, int burst) {}

        private final int concurrency;
        private final @Nullable Rate rate;

        private Limit(int concurrency, @Nullable Rate rate) {
            this.concurrency = concurrency;
            this.rate = rate;
        }

        /** Limits the number of concurrent events. Each event of a batch counts. */
        public static Limit concurrency(int most) {
            if (most < 1) {
                throw new IllegalArgumentException("concurrency must be at least 1: " + most);
            }
            return new Limit(most, null);
        }

        /**
         * Limits the number of events that start per period, spread evenly. After an idle time, up to {@code events}
         * may start at once.
         */
        public static Limit rate(int events, Duration per) {
            return rate(events, per, events);
        }

        /**
         * Limits the number of events that start per period, spread evenly. After an idle time, up to {@code burst} may
         * start at once.
         */
        public static Limit rate(int events, Duration per, int burst) {
            if (events < 1 || burst < 1) {
                throw new IllegalArgumentException("events and burst must be at least 1: " + events + " and " + burst);
            }
            if (per.isZero() || per.isNegative() || per.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException("per must be positive and at most a day: " + per);
            }
            if (burst > Long.MAX_VALUE / 2 / per.toNanos()) {
                throw new IllegalArgumentException("burst is too large for " + per + ": " + burst);
            }
            return new Limit(Integer.MAX_VALUE, new Rate(events, per, burst));
        }

        /** Returns the same rate with a limit on concurrent events. */
        public Limit andConcurrency(int most) {
            return new Limit(concurrency(most).concurrency, rate);
        }

        int concurrency() {
            return concurrency;
        }

        @Nullable
        Rate rate() {
            return rate;
        }
    }
}
