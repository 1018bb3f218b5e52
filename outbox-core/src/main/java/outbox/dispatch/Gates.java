package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.Protection.Limit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * The gates of a protection. A gate is created when the first event needs it. Guarded by the lock
 * of the {@link Admission}.
 */
final class Gates {

    private final Protection protection;
    private final LongSupplier nanoTime;
    // keys are compared by identity, because breakers do not override equals
    private final Map<CircuitBreaker, Gate> breakers = new LinkedHashMap<>();
    private final Map<String, Gate> types = new HashMap<>();
    private final Map<String, Gate> listeners = new HashMap<>();
    private final Map<String, Gate> tenants = new HashMap<>(); // removed when idle

    Gates(Protection protection) {
        this.protection = protection;
        this.nanoTime = protection.nanoTime();
    }

    /** Returns the gates that an event must pass. */
    List<Gate> of(EventEnvelope event, @Nullable String listener) {
        List<Gate> gates = new ArrayList<>();
        protection.breakersOfType(event.eventType()).forEach(breaker -> add(gates, breaker));
        limit(gates, types, Gate.Kind.TYPE, event.eventType(), protection.limitOfType(event.eventType()));
        if (listener != null) {
            protection.breakersOfListener(listener).forEach(breaker -> add(gates, breaker));
            limit(gates, listeners, Gate.Kind.LISTENER, listener, protection.limitOfListener(listener));
        }
        String tenant = event.tenantId();
        if (tenant != null) {
            limit(gates, tenants, Gate.Kind.TENANT, tenant, protection.limitOfTenant(tenant));
        }
        gates.forEach(gate -> gate.saw(event));
        return gates;
    }

    private void add(List<Gate> gates, CircuitBreaker breaker) {
        Gate gate = breakers.computeIfAbsent(breaker, Gate::of);
        if (!gates.contains(gate)) {
            gates.add(gate);
        }
    }

    private void limit(List<Gate> gates, Map<String, Gate> known, Gate.Kind kind, String name, @Nullable Limit limit) {
        if (limit != null) {
            gates.add(known.computeIfAbsent(name, none -> Gate.of(kind, name, limit, nanoTime.getAsLong())));
        }
    }

    List<Gate> all() {
        List<Gate> all = new ArrayList<>(breakers.values());
        all.addAll(types.values());
        all.addAll(listeners.values());
        all.addAll(tenants.values());
        return all;
    }

    /** Adds the types, routes and tenants that must not be claimed now because their gate is shut. */
    void addShut(Set<String> shutTypes, Set<String> shutRoutes, Set<String> shutTenants) {
        for (Gate gate : all()) {
            if (gate.isShut()) {
                switch (gate.kind) {
                    case TYPE -> shutTypes.add(gate.name);
                    case TENANT -> shutTenants.add(gate.name);
                    case LISTENER, BREAKER -> shutRoutes.addAll(gate.routes);
                }
            }
        }
    }

    /**
     * Returns how many events may be claimed now so that all of them find room, even if they all need
     * the busiest gate.
     */
    int claimRoom() {
        long now = nanoTime.getAsLong();
        int room = Integer.MAX_VALUE;
        for (Gate gate : all()) {
            if (!gate.isShut() && gate.isBusy(now)) {
                room = Math.min(room, Math.max(1, gate.room()));
            }
        }
        return room;
    }

    /**
     * Returns the nanoseconds until the next token that a delivery waits for. Also removes the gates
     * of idle tenants.
     */
    long nanosToNext() {
        long now = nanoTime.getAsLong();
        long next = Long.MAX_VALUE;
        for (Gate gate : all()) {
            next = Math.min(next, gate.nanosToNext(now));
        }
        tenants.values().removeIf(gate -> gate.isIdle(now));
        return next;
    }

    /** Whether a delivery waits or a breaker is not closed. */
    boolean needClock() {
        return all().stream()
                .anyMatch(gate -> !gate.waiting.isEmpty()
                        || gate.breaker != null && gate.breaker.state() != CircuitBreaker.State.CLOSED);
    }

    Protection.Status status(Paused paused) {
        List<Protection.Status.Breaker> breakerStates = new ArrayList<>();
        List<Protection.Status.Place> limits = new ArrayList<>();
        for (Gate gate : all()) {
            CircuitBreaker breaker = gate.breaker;
            if (breaker == null) {
                limits.add(new Protection.Status.Place(
                        gate.kind.name().toLowerCase(Locale.ROOT) + " " + gate.name,
                        gate.inside(),
                        gate.waiting.size(),
                        gate.isShut()));
            } else {
                breakerStates.add(new Protection.Status.Breaker(
                        breaker.name(), breaker.state(), breaker.reason(), gate.waiting.size()));
            }
        }
        return new Protection.Status(breakerStates, limits, paused.all());
    }
}
