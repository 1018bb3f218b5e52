package outbox.jdbc.internal.row;

import outbox.model.OutboxEvent;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;

import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * An event that can be claimed.
 *
 * @param sequence its number in the table, 0 if it has none
 * @param wasHeld whether an earlier claim of the event was never released
 * @param complete whether the whole event was read
 */
public record Candidate(OutboxEvent event, long sequence, boolean wasHeld, boolean complete) {

    /** Larger priorities first, then the oldest due time. */
    public static final Comparator<Candidate> ORDER = Comparator.comparing(
                    (Candidate candidate) -> candidate.event.priority())
            .reversed()
            .thenComparing(Candidate::dueAt)
            .thenComparingLong(Candidate::sequence)
            .thenComparing(candidate -> candidate.event.createdAt());

    public String eventId() {
        return event.eventId();
    }

    public Instant dueAt() {
        Instant at = event.availableAt();
        return at == null ? event.createdAt() : at;
    }

    public static Set<String> ids(Collection<Candidate> candidates) {
        return candidates.stream().map(Candidate::eventId).collect(Collectors.toSet());
    }

    /**
     * Returns the events of the claim in {@link #ORDER}, regardless of the order in which the database
     * returned them.
     */
    public static List<ClaimedEvent> claimed(List<Candidate> candidates, Claim claim) {
        return candidates.stream()
                .sorted(ORDER)
                .map(candidate -> new ClaimedEvent(candidate.event, claim, candidate.wasHeld, candidate.complete))
                .toList();
    }
}
