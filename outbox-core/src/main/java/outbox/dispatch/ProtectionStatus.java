package outbox.dispatch;

import outbox.admin.Pause;

import java.util.List;

/**
 * The state of breakers, limits and pauses on one dispatcher.
 *
 * @param breakers the breakers that at least one event has needed so far
 * @param limits the limits that at least one event has needed so far; for tenants, only the busy ones
 * @param pauses the pauses of all nodes, as this node last read them
 */
public record ProtectionStatus(List<Breaker> breakers, List<Place> limits, List<Pause> pauses) {

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

    public ProtectionStatus {
        breakers = List.copyOf(breakers);
        limits = List.copyOf(limits);
        pauses = List.copyOf(pauses);
    }
}
