package outbox.dispatch;

import outbox.admin.Pause;

import java.util.List;

/**
 * What stands between events and their destinations on one dispatcher at the moment.
 *
 * @param breakers those that an event came for so far
 * @param limits those that an event came for so far; of tenants, the busy ones
 * @param pauses what is paused on all nodes, as this one last read it
 */
public record ProtectionStatus(List<Breaker> breakers, List<Place> limits, List<Pause> pauses) {

    /**
     * A circuit breaker.
     *
     * @param reason why it opened last; empty if it never did
     * @param waiting how many events wait for it in the memory of this node
     */
    public record Breaker(String name, CircuitBreaker.State state, String reason, int waiting) {}

    /**
     * A limit.
     *
     * @param name what is limited: {@code type}, {@code listener} or {@code tenant}, and its name
     * @param waiting how many events wait for it in the memory of this node
     * @param overflowing whether more wait in the table, which this node leaves there for now
     */
    public record Place(String name, int running, int waiting, boolean overflowing) {}

    public ProtectionStatus {
        breakers = List.copyOf(breakers);
        limits = List.copyOf(limits);
        pauses = List.copyOf(pauses);
    }
}
